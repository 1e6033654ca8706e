// What has been promised: one plan per promised job, reserved on one ledger per pool.
#pragma once

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/core/ledger.h"
#include "rubato/core/plan.h"

namespace rubato {

/// A promised job's plan together with the deadline it keeps.
struct Commitment {
  JobId job{};
  Instant deadline = kNever;
  Plan plan{};
};

/// Plans and ledgers always agree. Walks go by (deadline, id).
class Commitments {
 public:
  /// GPUs per pool; capacity changes of a pool go to its ledger.
  explicit Commitments(std::span<const int> capacity);

  [[nodiscard]] const Plan* find(JobId job) const;
  [[nodiscard]] const Ledger& ledger(PoolId pool) const { return ledgers_[pool.value]; }

  /// Replaces the job's plan; there must be room for it.
  void set(JobId job, Instant deadline, Plan plan, Instant now);
  /// Frees what is left of the job's plan; returns it.
  Plan drop(JobId job, Instant now);
  void change_capacity(PoolId pool, Instant from, int gpus);
  /// Forgets what lies before `now`; changes that came due after `handled` are still to be made.
  void advance(Instant now, Instant handled);

  /// All commitments anew, in one go; they must fit.
  void replace_all(std::span<Commitment> commitments, std::span<const int> capacity);

  /// The first moment not yet handled at which a plan begins a segment; kNever if there is none.
  [[nodiscard]] Instant next_change() const;
  /// All such moments after `after`, rising, without repeats.
  [[nodiscard]] std::vector<Instant> changes_after(Instant after) const;
  /// True if some plan begins a segment at this moment.
  [[nodiscard]] bool changes_at(Instant moment) const { return changes_.contains(moment); }

  [[nodiscard]] std::size_t size() const { return plans_.size(); }
  [[nodiscard]] const std::set<std::pair<Instant, JobId>>& by_deadline() const {
    return by_deadline_;
  }

 private:
  void insert(JobId job, Instant deadline, Plan plan, Instant now);

  std::vector<Ledger> ledgers_;
  std::unordered_map<JobId, Commitment> plans_;  // Looked up, never walked.
  std::set<std::pair<Instant, JobId>> by_deadline_;
  std::map<Instant, int> changes_;  // Moments at which plans begin a segment, and how many do.
};

}  // namespace rubato
