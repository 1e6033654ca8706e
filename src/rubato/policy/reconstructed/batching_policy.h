// What policies share that decide on many jobs at once, in batches at doubling intervals: A_online
// and Astraea.
//
// A job that arrives is pending until a batch has decided on it. Batches are due by a doubling
// clock, which stands still while there is nothing to decide and nothing planned.
#pragma once

#include <set>
#include <string>

#include "rubato/policy/planning/planning_policy.h"
#include "rubato/policy/reconstructed/doubling_clock.h"

namespace rubato::policy::reconstructed {

/// When batches are held.
struct BatchTimes {
  Duration slot{};    // Unit of intervals; zero: kBatchSlot.
  int slots_max = 1;  // Intervals stop growing at that many slots.
};

class BatchingPolicy : public planning::PlanningPolicy {
 protected:
  BatchingPolicy(planning::SiteKind kind, const planning::PlanningOptions& options,
                 const BatchTimes& times)
      : planning::PlanningPolicy(kind, options), times_(times), clock_(times.slots_max) {}

  /// Decides on the pending jobs, and takes those it has decided on out of `pending()`.
  virtual void decide(const View& view, Decision& decision) = 0;

  /// The job is one of the next batch.
  void enter(const JobState& job, const View& view);

  [[nodiscard]] bool replan(const JobState& job, const View& view) override {
    return book_earliest(job, job.job.requested, view);
  }
  void hold_batch(const View& view, Decision& decision) final;
  [[nodiscard]] Instant next_batch(Instant earliest) const final;
  void leaves(JobId job) final { pending_.erase(job); }

  void save_more(std::string& state) const final;
  [[nodiscard]] bool restore_more(const SavedLine& line) final;
  void clear_more() final;

  /// Slot of batches, on the grid of the engine's.
  [[nodiscard]] Duration batch_slot(const View& view) const;
  /// Window of the batch that is due.
  [[nodiscard]] Duration batch_window(const View& view) const {
    return clock_.length() * batch_slot(view);
  }
  [[nodiscard]] std::set<JobId>& pending() { return pending_; }
  [[nodiscard]] const std::set<JobId>& pending() const { return pending_; }

 private:
  BatchTimes times_;
  DoublingClock clock_;
  std::set<JobId> pending_;  // Arrived, not yet decided on.
};

}  // namespace rubato::policy::reconstructed
