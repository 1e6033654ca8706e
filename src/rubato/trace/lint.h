// Looks for what is readable but probably wrong in a trace, one job at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rubato/core/job.h"
#include "rubato/trace/text/diagnostic.h"

namespace rubato {

struct LintOptions {
  std::string file{};
  int cluster_gpus = 0;               // Zero: sizes are not checked.
  std::vector<std::string> models{};  // Empty: names are not checked.
};

/// Each kind of finding is reported for this many jobs; then only counted.
inline constexpr std::uint64_t kFindingsMax = 10;
/// Names are remembered, as hashes, for this many jobs; later repeats of them are still found.
inline constexpr std::size_t kNamesMax = 4'000'000;

/// Memory grows only by eight bytes and a bit for each distinct name, up to kNamesMax.
class Linter {
 public:
  Linter(LintOptions options, DiagnosticSink sink);

  /// Jobs in file order, with the line of each.
  void see(const Job& job, std::uint64_t line);
  /// Findings about the trace as a whole.
  void finish();

 private:
  enum Check : std::size_t {
    Duplicate,
    Oversized,
    LateDeadline,
    NoWork,
    Unsorted,
    LongDuration,
    UnknownModel,
    ClassWithoutDeadline,
    Count,
  };

  // What every finding about one job says.
  struct Finding {
    Check check = Check::Duplicate;
    Severity severity = Severity::Warning;
    std::string_view field{};
  };

  void find(const Finding& finding, std::uint64_t line, std::string message,
            std::string suggestion = {});
  void check_name(const Job& job, std::uint64_t line);
  void check_size(const Job& job, std::uint64_t line);
  void check_times(const Job& job, std::uint64_t line);
  void check_model(const Job& job, std::uint64_t line);
  void check_units();
  void report(Diagnostic&& diagnostic);

  LintOptions options_;
  DiagnosticSink sink_;
  std::array<std::uint64_t, Check::Count> found_{};
  std::array<Finding, Check::Count> kinds_{};
  std::unordered_set<std::uint64_t> names_;  // Asked, never walked: its order does not matter.
  Instant last_arrival_{};
  std::uint64_t durations_ = 0;
  std::uint64_t durations_in_thousands_ = 0;  // Multiples of 1000 s: milliseconds, perhaps.
  Duration longest_{};
};

}  // namespace rubato
