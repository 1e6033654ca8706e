// Reads a job's log while it is being written, piece by piece and whole lines at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "rubato/base/result.h"

namespace rubato {

struct LogQuery {
  std::uint64_t from = 0;  // Byte.
  std::size_t bytes_max = 1 << 20;
  bool is_ended = false;  // Nobody writes any more: the last line counts even without its end.
};

struct LogExcerpt {
  std::string text{};
  std::uint64_t next = 0;  // Where to go on.
  std::uint64_t size = 0;  // Of the log when it was read.
};

/// Whole lines; a part of one only if it alone is longer than bytes_max. A missing file is empty.
/// From beyond the end there is nothing, and `next` is the end. What is no plain file is an error:
/// the job may have put something else in its place.
[[nodiscard]] Result<LogExcerpt> read_log(const std::string& path, const LogQuery& query);

}  // namespace rubato
