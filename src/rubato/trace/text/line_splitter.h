// Cuts a stream of bytes into lines, holding at most one unfinished line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rubato {

/// Longer lines are reported, not kept: a trace without line ends must not fill the memory.
inline constexpr std::size_t kLineBytesMax = 1 << 20;

struct Line {
  std::string_view text{};   // Without its line end; empty if too long.
  std::uint64_t number = 0;  // From 1.
  bool is_too_long = false;
};

/// Ends are `\n` or `\r\n`; a byte-order mark at the start of the stream is dropped.
class LineSplitter {
 public:
  /// Calls `on_line(const Line&)` for every line that `chunk` completes.
  template <typename OnLine>
  void feed(std::string_view chunk, OnLine&& on_line) {
    for (std::size_t end = chunk.find('\n'); end != std::string_view::npos;
         end = chunk.find('\n')) {
      on_line(complete(chunk.substr(0, end)));
      buffer_.clear();
      chunk.remove_prefix(end + 1);
    }
    keep(chunk);
  }

  /// A last line without an end counts too.
  template <typename OnLine>
  void finish(OnLine&& on_line) {
    if (!buffer_.empty() || is_too_long_) {
      on_line(complete({}));
      buffer_.clear();
    }
  }

  [[nodiscard]] std::size_t buffered_bytes() const { return buffer_.size(); }

 private:
  // The line whose last part is `tail`; valid until the buffer changes.
  Line complete(std::string_view tail);
  void keep(std::string_view part);

  std::string buffer_;
  std::uint64_t lines_ = 0;
  bool is_too_long_ = false;
};

}  // namespace rubato
