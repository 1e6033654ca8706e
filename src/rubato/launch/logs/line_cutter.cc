#include "rubato/launch/logs/line_cutter.h"

#include <algorithm>

#include <fmt/format.h>

namespace rubato {

void LineCutter::append(std::string_view bytes) {
  const std::size_t taken = std::min(bytes.size(), line_max_ - line_.size());
  line_ += bytes.substr(0, taken);
  bytes_cut_ += bytes.size() - taken;
}

void LineCutter::emit(std::string_view end, const Sink& sink) {
  if (bytes_cut_ > 0) {
    line_ += fmt::format(" [... {} bytes cut]", bytes_cut_);
  }
  line_ += end;
  sink(line_);
  line_.clear();
  bytes_cut_ = 0;
}

void LineCutter::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (has_return_) {
      has_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        emit("\r\n", sink);
        continue;
      }
      emit("\r", sink);
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    append(bytes.substr(0, end));
    if (end == bytes.size()) {
      return;
    }
    if (bytes[end] == '\n') {
      emit("\n", sink);
    } else {
      has_return_ = true;
    }
    bytes.remove_prefix(end + 1);
  }
}

void LineCutter::finish(const Sink& sink) {
  if (has_return_) {
    has_return_ = false;
    emit("\r", sink);
  } else if (!line_.empty()) {
    emit("\n", sink);
  }
}

}  // namespace rubato
