// Writes jobs as `rubato-trace/2`, one line at a time; what is written reads back bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rubato/core/job.h"

namespace rubato {

/// What the header line says besides the format.
struct RubatoTraceHeader {
  std::string source{};                 // Where the jobs come from, in words.
  std::optional<std::uint64_t> seed{};  // Of the generator.
  std::optional<std::uint64_t> jobs{};  // If known: lets a reader notice a cut-off file.
};

/// Both end in a newline. Text that is not UTF-8 has its bad bytes replaced by U+FFFD. Fields that
/// have their default are left out, except those every reader of a trace looks for.
[[nodiscard]] std::string rubato_header_line(const RubatoTraceHeader& header);
[[nodiscard]] std::string rubato_job_line(const Job& job);

}  // namespace rubato
