// A table that is drawn again and again at the bottom of a terminal, and lines that stay above it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rubato {

/// The first `width` columns of a line; what sets colours takes none and is kept.
[[nodiscard]] std::string cut_to_width(std::string_view line, std::size_t width);

/// Without a terminal there are only the lines.
class DemoScreen {
 public:
  explicit DemoScreen(bool is_terminal) : is_terminal_(is_terminal) {}

  void say(const std::string& line);
  void show(const std::string& table);
  /// The table goes; what is printed next stands where it was.
  void clear();
  [[nodiscard]] bool is_terminal() const { return is_terminal_; }

 private:
  bool is_terminal_;
  std::string shown_{};
  std::size_t rows_ = 0;
};

}  // namespace rubato
