// What a job would gain per second with each canonical share, remembered until its model changes.
//
// Shared by the policies that maximise goodput (Pollux, Sia).
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "rubato/policy/goodput/canonical_shares.h"
#include "rubato/policy/view.h"

namespace rubato::policy::goodput {

/// A cache: everything in it can be made anew from the view.
class ShareRates {
 public:
  /// Goodput of a job whose batch adapts, zero before it was first seen in the pool; of others
  /// their speed.
  [[nodiscard]] double rate(const JobState& job, const View& view, PoolId pool,
                            const CanonicalShare& share);
  void forget(JobId job) { jobs_.erase(job); }
  void clear() {
    jobs_.clear();
    sizes_.clear();
  }

 private:
  struct Remembered {
    long version = -1;
    std::vector<std::tuple<PoolId, int, int, double>> rates{};  // Pool, nodes, workers, rate.
  };

  [[nodiscard]] const BatchSizes& sizes(const BatchLimits& limits, int workers);

  std::map<JobId, Remembered> jobs_;
  // Jobs of one model have the same limits, and nothing else bears on the sizes to try.
  std::map<std::tuple<int, int, int, int, int>, BatchSizes> sizes_;
};

/// The most workers to try: twice what the job was seen with in this pool, and no more than
/// `permitted`, than it accepts or than its batch can be split into; at its curve's peak if its
/// batch cannot adapt.
[[nodiscard]] int explored_max(const JobState& job, const View& view, PoolId pool, int permitted);

/// Seconds that a change of its workers costs a job.
[[nodiscard]] double restart_cost(const JobState& job, const View& view);

/// How much of its speedup is left to a job that restarts: the time it had, less what restarts cost
/// it, with one more to come. All of it to one that has only just arrived.
[[nodiscard]] double after_restart(const JobState& job, const View& view);

}  // namespace rubato::policy::goodput
