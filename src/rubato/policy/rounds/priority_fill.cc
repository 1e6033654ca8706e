#include "rubato/policy/rounds/priority_fill.h"

#include <algorithm>
#include <utility>

namespace rubato::policy::rounds {

/// One fill: the waiting jobs that are next of their width, and the end of the running line.
class PriorityFill::Walk {
 public:
  Walk(const PriorityFill& jobs, int capacity, std::int64_t lead)
      : jobs_(jobs),
        lead_(lead),
        idle_(capacity - jobs.running_gpus_),
        behind_(jobs.running_.rbegin()) {
    for (const auto& [workers, line] : jobs.waiting_) {
      heads_.push_back(Head{.workers = workers, .next = line.begin(), .end = line.end()});
    }
  }

  Changes changes() {
    start_while_nobody_stops();
    if (taken_ > idle_) {
      walk_from(index_where_tail_holds(taken_ - idle_));
    }
    return std::move(changes_);
  }

 private:
  struct Head {
    int workers = 0;
    Line::const_iterator next{};
    Line::const_iterator end{};
  };
  /// A running job, and the GPUs of it and of all behind it.
  struct TailEntry {
    Rank rank{};
    int workers = 0;
    int gpus = 0;
  };

  // Takes running jobs from the end of the line until they hold `gpus`; the index of the last one
  // taken. If all together hold less, that of the first job in line.
  std::size_t index_where_tail_holds(int gpus) {
    while ((tail_.empty() || tail_.back().gpus < gpus) && behind_ != jobs_.running_.rend()) {
      Rank rank = behind_->first;
      rank.value -= lead_;
      const int before = tail_.empty() ? 0 : tail_.back().gpus;
      tail_.push_back(
          TailEntry{.rank = rank, .workers = behind_->second, .gpus = before + behind_->second});
      ++behind_;
    }
    const auto found = std::ranges::lower_bound(tail_, gpus, {}, &TailEntry::gpus);
    const auto index = static_cast<std::size_t>(found - tail_.begin());
    return std::min(index, tail_.size() - 1);
  }

  // True if a job of this rank finds its GPUs free when all running jobs ahead of it keep theirs;
  // false behind a running job that must stop, for what is behind it is then spoken for.
  bool fits(const Rank& rank, int workers) {
    const int missing = workers - (idle_ - taken_);
    if (missing <= 0) {
      return true;
    }
    if (missing > jobs_.running_gpus_) {
      return false;
    }
    return rank < tail_[index_where_tail_holds(missing)].rank;
  }

  void start(Head& head) {
    changes_.starts.push_back(head.next->first.job);
    ++head.next;
  }

  // Starts, in rank order, all who fit ahead of the first running job that must stop.
  void start_while_nobody_stops() {
    while (true) {
      Head* best = nullptr;
      for (Head& head : heads_) {
        if (head.next == head.end || (best != nullptr && best->next->first < head.next->first)) {
          continue;
        }
        if (fits(head.next->first, head.workers)) {
          best = &head;
        }
      }
      if (best == nullptr) {
        return;
      }
      taken_ += best->workers;
      start(*best);
    }
  }

  // Starts, in rank order, those ahead of `limit` who fit into `free`; returns what is left of it.
  int start_within(int free, const Rank* limit) {
    while (free > 0) {
      Head* best = nullptr;
      for (Head& head : heads_) {
        const bool can = head.next != head.end && head.workers <= free &&
                         (limit == nullptr || head.next->first < *limit);
        if (can && (best == nullptr || head.next->first < best->next->first)) {
          best = &head;
        }
      }
      if (best == nullptr) {
        return free;
      }
      free -= best->workers;
      start(*best);
    }
    return free;
  }

  // The plain walk from the first running job that must stop to the end of the line.
  void walk_from(std::size_t index) {
    if (tail_.empty()) {
      return;
    }
    int free = idle_ - taken_ + tail_[index].gpus;
    for (std::size_t i = index + 1; i-- > 0;) {
      const TailEntry& entry = tail_[i];
      free = start_within(free, &entry.rank);
      if (entry.workers <= free) {
        free -= entry.workers;
      } else {
        changes_.stops.push_back(entry.rank.job);
      }
    }
    start_within(free, nullptr);
  }

  const PriorityFill& jobs_;
  std::int64_t lead_;
  int idle_;       // GPUs of no running job; negative if some broke.
  int taken_ = 0;  // By jobs that start ahead of the first one that stops.
  Line::const_reverse_iterator behind_;
  std::vector<TailEntry> tail_;  // From the end of the line forward, as far as was needed.
  std::vector<Head> heads_;
  Changes changes_;
};

// Takes the job out of the line it stands in.
PriorityFill::Line::node_type PriorityFill::take_out(const Entry& entry) {
  if (entry.runs) {
    running_gpus_ -= entry.workers;
    return running_.extract(entry.rank);
  }
  const auto line = waiting_.find(entry.workers);
  Line::node_type place = line->second.extract(entry.rank);
  if (line->second.empty()) {
    waiting_.erase(line);
  }
  return place;
}

// Jobs change lines by the thousand when many reach a threshold together, so they take their memory
// along.
void PriorityFill::put(const Entry& entry) {
  const auto [known, is_new] = entries_.try_emplace(entry.rank.job, entry);
  if (!is_new && known->second == entry) {
    return;
  }
  running_gpus_ += entry.runs ? entry.workers : 0;
  if (is_new) {
    line_for(entry).emplace(entry.rank, entry.workers);
    return;
  }
  Line::node_type place = take_out(known->second);
  place.key() = entry.rank;
  place.mapped() = entry.workers;
  line_for(entry).insert(std::move(place));
  known->second = entry;
}

void PriorityFill::wait(const Rank& rank, int workers) {
  put({.rank = rank, .workers = workers, .runs = false});
}

void PriorityFill::run(const Rank& rank, int workers) {
  put({.rank = rank, .workers = workers, .runs = true});
}

void PriorityFill::erase(JobId job) {
  const auto found = entries_.find(job);
  if (found != entries_.end()) {
    take_out(found->second);
    entries_.erase(found);
  }
}

PriorityFill::Changes PriorityFill::fill(int capacity, std::int64_t lead) const {
  return Walk(*this, capacity, lead).changes();
}

}  // namespace rubato::policy::rounds
