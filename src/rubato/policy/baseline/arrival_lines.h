// Who waits, in order of arrival: one line for all jobs that can run in the same pools.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/job_state.h"
#include "rubato/policy/rounds/gang.h"

namespace rubato::policy::baseline {

/// Ties by id. Cheap to join and to leave anywhere in the line.
class ArrivalLines {
 public:
  using Place = std::pair<Instant, JobId>;
  using Line = std::set<Place>;
  using Pools = std::vector<PoolId>;  // Rising.

  void join(const JobState& job, const std::vector<rounds::Gang>& choices) {
    Pools pools;
    for (const rounds::Gang& gang : choices) {
      pools.push_back(gang.pool);
    }
    std::ranges::sort(pools);
    const Place place{job.job.arrival, job.id()};
    lines_[pools].insert(place);
    places_[job.id()] = {std::move(pools), place};
  }

  /// No effect if the job does not wait.
  void leave(JobId job) {
    const auto found = places_.find(job);
    if (found != places_.end()) {
      lines_.at(found->second.first).erase(found->second.second);
      places_.erase(found);
    }
  }

  void clear() {
    lines_.clear();
    places_.clear();
  }

  /// Some may be empty.
  [[nodiscard]] const std::map<Pools, Line>& lines() const { return lines_; }

 private:
  std::map<Pools, Line> lines_;
  std::unordered_map<JobId, std::pair<Pools, Place>> places_;
};

}  // namespace rubato::policy::baseline
