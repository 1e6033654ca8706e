// Of each group of running jobs, the one that has run longest, though pauses make them fall behind.
//
// A job is entered with the moment at which it would have begun had it run ever since. Pauses move
// that moment later, never earlier, so it is looked up again only for the job that seems first.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"

namespace rubato {

/// Groups are (queue, workers): jobs in one group gain service at one rate.
class LongestRun {
 public:
  using Group = std::pair<std::size_t, int>;

  /// Adds the job or moves it.
  void set(JobId job, const Group& group, Instant began) {
    erase(job);
    places_[job] = {group, began};
    groups_[group].insert({began, job});
  }

  /// No effect if the job is unknown.
  void erase(JobId job) {
    const auto found = places_.find(job);
    if (found == places_.end()) {
      return;
    }
    const auto group = groups_.find(found->second.first);
    group->second.erase({found->second.second, job});
    if (group->second.empty()) {
      groups_.erase(group);
    }
    places_.erase(found);
  }

  void clear() {
    groups_.clear();
    places_.clear();
  }

  /// Calls visit(group, job) for the longest-running job of each group; began(job) says since when
  /// it seems to have run by now.
  template <typename Began, typename Visit>
  void for_each_first(Began began, Visit visit) {
    for (auto& [group, line] : groups_) {
      while (true) {
        const auto [entered, job] = *line.begin();
        const Instant now_began = began(job);
        if (now_began <= entered + kTolerance) {
          visit(group, job);
          break;
        }
        line.erase(line.begin());
        line.insert({now_began, job});
        places_[job].second = now_began;
      }
    }
  }

 private:
  // Run times are rounded; without this every look would move everyone a little.
  static constexpr Duration kTolerance{1000};

  std::map<Group, std::set<std::pair<Instant, JobId>>> groups_;
  std::unordered_map<JobId, std::pair<Group, Instant>> places_;
};

}  // namespace rubato
