// Spreads elasticflow's jobs without a plan over the pools, so that none waits while GPUs idle.
//
// A round gives each such job its smallest share in turn before anybody gets more (spare_gpus.h).
// This walks the same line over all pools at once. A job that runs stays; one that waits, or whose
// GPUs were taken for promises, goes where it would be fastest if all who are there shared evenly.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "rubato/core/job_state.h"
#include "rubato/policy/view.h"

namespace rubato::policy::elasticflow {

/// What plans leave of each pool in one round, and who counts on it already.
class FreeGpus {
 public:
  /// GPUs that are up, by pool.
  explicit FreeGpus(std::span<const int> capacity);

  /// Takes GPUs that a plan gives away in this round; before the first seat.
  void reserve(PoolId pool, int workers);

  /// Where the job runs, or waits if no pool has room for its smallest share; to be asked in the
  /// order in which jobs start. Equal pools: where it was, then the one with the fewest others, the
  /// most room, the lowest number.
  [[nodiscard]] PoolId seat(const JobState& job, const View& view);

  /// Workers that one more job of at most `most` would have if all shared evenly.
  [[nodiscard]] int even_share(PoolId pool, int most) const;

 private:
  struct Room {
    int gpus = 0;                 // Beside the plans.
    int left = 0;                 // Of them, once each has its smallest share.
    int sharers = 0;              // Those who have a share.
    std::map<int, int> wishes{};  // How many of them can use so many workers at most.
  };

  [[nodiscard]] bool has_room(const JobState& job, PoolId pool, const View& view) const;
  [[nodiscard]] PoolId best_for(const JobState& job, const View& view) const;

  std::vector<Room> rooms_;
};

}  // namespace rubato::policy::elasticflow
