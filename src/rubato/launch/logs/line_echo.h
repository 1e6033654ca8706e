// Lines of workers on the terminal, whole, and without ever waiting for whoever reads them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rubato {

/// Writes lines to a descriptor that is lent to it: a terminal, a file, or a pipe to a pager. A
/// reader that is slow gets them later, one that stops for long loses whole lines and is told. For
/// one that leaves, the program must ignore SIGPIPE, as its main function decides.
class LineEcho {
 public:
  explicit LineEcho(int descriptor, std::size_t waiting_max = std::size_t{1} << 20U)
      : descriptor_(descriptor), waiting_max_(waiting_max) {}

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// True while lines wait: then `flush` should be called once the descriptor is writable.
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty(); }

  void write(std::string_view prefix, std::string_view line);
  void flush();

 private:
  int descriptor_;
  std::size_t waiting_max_;
  std::string waiting_{};
  std::size_t lines_lost_ = 0;
};

}  // namespace rubato
