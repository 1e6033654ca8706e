// What the terminal can show, and a line at its bottom that is written again and again.
#pragma once

#include <string>

namespace rubato {

/// Standard output is a terminal, and neither NO_COLOR nor TERM=dumb asks for plain text.
[[nodiscard]] bool shows_colour();

/// One line on stderr that gives way to what is printed above it; nothing without a terminal.
class StatusLine {
 public:
  explicit StatusLine(bool is_terminal) : is_terminal_(is_terminal) {}
  /// For stderr as it is.
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(const std::string& text);
  void clear();
  /// A line of its own above the bottom line, on stderr.
  void say(const std::string& line);

 private:
  bool is_terminal_;
  std::string shown_{};
};

}  // namespace rubato
