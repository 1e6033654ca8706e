// People at the front door: connections that are kept, each asking one thing after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/http/client.h"

namespace rubato {

/// What the jobs of a load are like, by number: the same number is the same job.
[[nodiscard]] std::string job_json(std::uint64_t number, int workers_max);
/// A job with a deadline that can be had, to ask about.
[[nodiscard]] std::string quoted_job_json(std::uint64_t number);

struct LoadOptions {
  WebAddress server{};
  int submitters = 24;
  int askers = 0;      // That want quotes meanwhile.
  double seconds = 0;  // How long; zero: until `accepted` jobs wait.
  std::uint64_t accepted = 0;
  double rate = 0;          // Submissions per second in all; zero: as many as are answered.
  double quote_rate = 50;   // Quotes per second in all.
  std::uint64_t first = 0;  // Number of the first job.
};

/// Latencies are in seconds, sorted; one that was answered late because the one before it was
/// counts from when it was due.
struct LoadResult {
  double seconds = 0;
  std::uint64_t submitted = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;  // Anything but an answer.
  std::vector<double> submit_latencies{};
  std::vector<double> quote_latencies{};
  std::string first_failure{};
};

[[nodiscard]] LoadResult put_load(const LoadOptions& options);

/// The value at a share of sorted numbers; zero of none.
[[nodiscard]] double percentile(const std::vector<double>& sorted, double share);

}  // namespace rubato
