// A whole trace that is already in memory: for tests, fuzzers and small inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/trace/text/diagnostic.h"

namespace rubato {

struct TraceText {
  std::vector<Job> jobs{};             // In file order.
  std::vector<std::uint64_t> lines{};  // Of each job.
  std::vector<Diagnostic> diagnostics{};
  Status status = ok_status();
  std::size_t buffered_max = 0;  // Most bytes the reader held back at a time.
};

/// Reads `text` as a trace of the named format, fed in pieces of `chunk_bytes`; messages call it
/// `trace`.
[[nodiscard]] TraceText read_text(std::string_view format, std::string_view text,
                                  std::size_t chunk_bytes = 1 << 20);

}  // namespace rubato
