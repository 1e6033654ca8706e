// Who waits, in order of arrival: one line for each pool.
#pragma once

#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/job_state.h"

namespace rubato {

/// Ties by id. Cheap to join and to leave anywhere in the line.
class ArrivalLines {
 public:
  using Place = std::pair<Instant, JobId>;
  using Line = std::set<Place>;

  void resize(std::size_t pools) { lines_.resize(pools); }

  void join(const JobState& job, PoolId pool) {
    const Place place{job.job.arrival, job.id()};
    lines_[pool.value].insert(place);
    places_[job.id()] = {pool, place};
  }

  /// No effect if the job does not wait.
  void leave(JobId job) {
    const auto found = places_.find(job);
    if (found != places_.end()) {
      lines_[found->second.first.value].erase(found->second.second);
      places_.erase(found);
    }
  }

  void clear() {
    lines_.clear();
    places_.clear();
  }

  [[nodiscard]] std::size_t pools() const { return lines_.size(); }
  [[nodiscard]] const Line& line(PoolId pool) const { return lines_[pool.value]; }

 private:
  std::vector<Line> lines_;
  std::unordered_map<JobId, std::pair<PoolId, Place>> places_;
};

}  // namespace rubato
