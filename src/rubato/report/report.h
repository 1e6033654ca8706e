// What a report is made from: one header about the experiment, one RunReport for each policy,
// grouped by what they may be compared under.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/metrics/history.h"
#include "rubato/metrics/summary.h"

namespace rubato {

/// What all runs have in common, and how to do them again.
struct ReportHeader {
  std::string version{};
  std::string trace{};    // As given on the command line.
  std::string cluster{};  // Likewise.
  std::uint64_t seed = 0;
  std::string overhead{};
  double slot_seconds = 0;  // 0: the policies have no slots.
  std::string command{};
  std::vector<std::string> provenance{};  // Where speeds and profiles come from, one line each.
};

/// One policy's result.
struct RunReport {
  std::string policy{};          // As given, options included.
  std::string failure{};         // Why there are no numbers; empty if there are.
  Summary summary{};             // Of the first seed.
  std::vector<Summary> seeds{};  // All seeds, the first included; empty if there was only one.

  /// Time of one engine step, and of the whole run, by a real clock.
  double decision_p50_seconds = 0;
  double decision_p99_seconds = 0;
  double decision_max_seconds = 0;
  double wall_seconds = 0;
  std::int64_t peak_rss_bytes = 0;

  /// Of the first seed; may be absent, then pictures leave this run out. Must outlive the report.
  const History* history = nullptr;
};

/// Runs that may be compared: the same jobs under the same conditions, one run for each policy.
struct RunGroup {
  std::string trace{};
  double noise = 0;  // Spread of true speeds around the known ones; 0: exact.
  std::vector<RunReport> runs{};
};

}  // namespace rubato
