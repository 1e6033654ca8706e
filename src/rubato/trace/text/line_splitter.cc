#include "rubato/trace/text/line_splitter.h"

namespace rubato {

Line LineSplitter::complete(std::string_view tail) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view text = tail;
  if (!buffer_.empty() || tail.size() > kLineBytesMax) {
    keep(tail);
    text = buffer_;
  }
  const bool was_too_long = is_too_long_;
  is_too_long_ = false;
  ++lines_;
  if (was_too_long) {
    return {.text = {}, .number = lines_, .is_too_long = true};
  }
  if (lines_ == 1 && text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  return {.text = text, .number = lines_};
}

void LineSplitter::keep(std::string_view part) {
  if (is_too_long_) {
    return;
  }
  if (buffer_.size() + part.size() > kLineBytesMax) {
    is_too_long_ = true;
    buffer_.clear();
    return;
  }
  buffer_.append(part);
}

}  // namespace rubato
