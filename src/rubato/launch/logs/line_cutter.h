// Bytes in, whole lines out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace rubato {

/// Collects what one stream of a worker says until a line is whole. A carriage return that is not
/// part of a line end also ends a line, as progress bars use it. Any byte may be in a line; a line
/// longer than the limit is cut, and says so.
class LineCutter {
 public:
  /// Given each line with its end: `\n`, `\r\n` or `\r`.
  using Sink = std::function<void(std::string_view)>;

  explicit LineCutter(std::size_t line_max) : line_max_(line_max) {}

  void feed(std::string_view bytes, const Sink& sink);
  /// The stream has ended: what is left becomes a line.
  void finish(const Sink& sink);

 private:
  void append(std::string_view bytes);
  void emit(std::string_view end, const Sink& sink);

  std::size_t line_max_;
  std::string line_{};
  std::size_t bytes_cut_ = 0;
  bool has_return_ = false;  // A carriage return was read; the next byte says what it means.
};

}  // namespace rubato
