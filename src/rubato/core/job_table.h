// The active jobs, found by id in constant time and walked in id order.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "rubato/core/job_state.h"

namespace rubato {

/// References stay valid until their own job is erased. Walking skips erased jobs.
class JobTable {
 public:
  JobTable() = default;
  JobTable(JobTable&&) = default;
  JobTable& operator=(JobTable&&) = default;
  /// A copy has states of its own: the entries point into the table they belong to.
  JobTable(const JobTable& other);
  JobTable& operator=(const JobTable& other);
  ~JobTable() = default;

  JobState& insert(Job job);
  void erase(JobId id);

  [[nodiscard]] const JobState* find(JobId id) const;
  [[nodiscard]] JobState* find(JobId id);
  /// The job must be active.
  [[nodiscard]] const JobState& at(JobId id) const;
  [[nodiscard]] JobState& at(JobId id);

  [[nodiscard]] std::size_t size() const { return index_.size(); }

  /// In rising id order; `visit` may not insert or erase.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i + kAhead < order_.size() && order_[i + kAhead].state != nullptr) {
        __builtin_prefetch(&order_[i + kAhead].state->job);
        __builtin_prefetch(&order_[i + kAhead].state->job.arrival);
        __builtin_prefetch(&order_[i + kAhead].state->share);
      }
      if (order_[i].state != nullptr) {
        visit(static_cast<const JobState&>(*order_[i].state));
      }
    }
  }

 private:
  struct Entry {
    JobId id{};
    JobState* state = nullptr;  // Null once erased; swept out when half of the entries are.
  };

  static constexpr std::size_t kAhead = 8;  // Jobs a walk fetches ahead: they lie scattered.

  void sweep();

  std::deque<JobState> storage_;
  std::vector<JobState*> unused_;
  std::unordered_map<JobId, JobState*>
      index_;  // Looked up, never walked: its order is unspecified.
  std::vector<Entry> order_;
};

}  // namespace rubato
