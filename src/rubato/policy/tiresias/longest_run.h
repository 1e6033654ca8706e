// Of each group of running jobs, the one that has run longest, though pauses make them fall behind.
//
// A job is entered with the moment at which it would have begun had it run ever since. Pauses move
// that moment later, never earlier, so it is looked up again only for the job that seems first.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"
#include "rubato/policy/tiresias/job_heap.h"

namespace rubato::policy::tiresias {

/// Groups are (queue, workers): jobs in one group gain service at one rate.
class LongestRun {
 public:
  using Group = std::pair<std::size_t, int>;

  /// Adds the job or moves it.
  void set(JobId job, const Group& group, Instant began) {
    places_[job] = {group, began};
    groups_[group].add({began, job}, places_.size(),
                       [&](const JobHeap::Entry& entry) { return holds(group, entry); });
  }

  /// No effect if the job is unknown.
  void erase(JobId job) { places_.erase(job); }

  void clear() {
    groups_.clear();
    places_.clear();
  }

  /// Calls visit(group, job) for the longest-running job of each group; began(job) says since when
  /// it seems to have run by now.
  template <typename Began, typename Visit>
  void for_each_first(Began began, Visit visit) {
    for (auto& [group, line] : groups_) {
      const auto holds_here = [this, &here = group](const JobHeap::Entry& entry) {
        return holds(here, entry);
      };
      while (const JobHeap::Entry* first = line.first(holds_here)) {
        const auto [entered, job] = *first;
        const Instant now_began = began(job);
        if (now_began <= entered + kTolerance) {
          visit(group, job);
          break;
        }
        line.drop_first();
        set(job, group, now_began);
      }
    }
  }

 private:
  // Run times are rounded; without this every look would move everyone a little.
  static constexpr Duration kTolerance{1000};

  [[nodiscard]] bool holds(const Group& group, const JobHeap::Entry& entry) const {
    const auto found = places_.find(entry.second);
    return found != places_.end() && found->second == std::pair(group, entry.first);
  }

  std::map<Group, JobHeap> groups_;
  std::unordered_map<JobId, std::pair<Group, Instant>> places_;
};

}  // namespace rubato::policy::tiresias
