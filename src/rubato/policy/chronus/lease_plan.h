// Which leases (stretches of equal length) each job gets, so that deadlines are kept.
//
// The admission test and the lease program of Chronus (Gao et al., SoCC'21) as its published code
// has them. Leases are counted from the next one, which is number 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "rubato/solve/linear_program.h"

namespace rubato::policy::chronus {

/// What a job is worth if all its leases lie before number `end`.
struct LeaseOption {
  int end = 0;
  double value = 0;
};

/// Runs on a fixed number of GPUs for a number of leases, not necessarily in a row.
struct LeaseJob {
  int gpus = 1;
  int need = 1;                        // Leases.
  int first = 0;                       // The earliest it can use.
  std::vector<LeaseOption> options{};  // Rising ends, falling values; at least one.
};

using Leases = std::vector<int>;  // Rising.

/// Run time with the margin of the published code: a tenth, and half a minute per lease and
/// doubling of GPUs for stopping and resuming; in whole minutes, rounded down.
[[nodiscard]] double estimated_minutes(double run_minutes, int gpus, double lease_minutes);

/// 3 becomes 4, and 5 to 7 become 8: such jobs are not made to share a node.
[[nodiscard]] int rounded_gpus(int gpus);

/// The latest leases before the job's last end in which it fits; nothing if they are too few.
[[nodiscard]] std::optional<Leases> latest_leases(const LeaseJob& job, std::span<const int> free);

/// What the job is worth with these leases.
[[nodiscard]] double value_of(const LeaseJob& job, const Leases& leases);

/// Takes the job's GPUs from (or, with a negative number, gives them back to) the leases.
void take(const Leases& leases, int gpus, std::vector<int>& free);

/// Latest leases for all jobs, the widest first, then those with the least slack, then the latest
/// ends. A job that does not fit gets none and is in the second list.
struct LatestFit {
  std::vector<Leases> leases{};
  std::vector<std::size_t> unfit{};
};
[[nodiscard]] LatestFit latest_fit(std::span<const LeaseJob> jobs, std::vector<int> free);

/// Whether leased jobs should leave the next lease to others or use it themselves; it decides
/// between plans that are worth the same.
enum class NextLease { Spare, Use };

/// The value of all jobs, and the share of `capacity` in use in the next lease, which counts for or
/// against.
[[nodiscard]] double lease_worth(std::span<const LeaseJob> jobs, std::span<const Leases> leases,
                                 int capacity, NextLease next);

/// No leases for all jobs are worth more than this; often some are worth as much.
[[nodiscard]] double lease_worth_bound(std::span<const LeaseJob> jobs, std::span<const int> free,
                                       int capacity, NextLease next);

/// The best leases for all jobs; nothing if none were found that keep all last deadlines.
[[nodiscard]] std::optional<std::vector<Leases>> best_leases(std::span<const LeaseJob> jobs,
                                                             std::span<const int> free,
                                                             int capacity, NextLease next,
                                                             const SolveLimits& limits = {});

}  // namespace rubato::policy::chronus
