// What has been promised: one plan per promised job, reserved on one ledger per pool.
#pragma once

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "rubato/core/ledger.h"
#include "rubato/core/plan.h"

namespace rubato::policy::elasticflow {

/// A promised job's plan together with the deadline it keeps.
struct Commitment {
  JobId job{};
  Instant deadline = kNever;
  Plan plan{};
};

/// What a plan says about one moment.
struct Standing {
  PoolId pool{};
  int workers = 0;
};

/// Plans and ledgers always agree. Walks go by (deadline, id).
class Commitments {
 public:
  class Reading;

  /// GPUs per pool; capacity changes of a pool go to its ledger.
  explicit Commitments(std::span<const int> capacity);

  /// Null if the job has no plan; valid until the next change.
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

  /// Jobs whose plan is over by `now` or has no segments, by (deadline, id).
  [[nodiscard]] std::vector<JobId> over_by(Instant now) const;

  [[nodiscard]] std::size_t size() const { return by_deadline_.size(); }
  [[nodiscard]] const std::set<std::pair<Instant, JobId>>& by_deadline() const {
    return by_deadline_;
  }

 private:
  /// Rounds read all plans: what they need stands side by side, without a look at the segments.
  struct Entry {
    JobId job{};
    bool is_set = false;  // False once dropped; swept out when half of the entries are.
    Standing standing{};  // Until `stands_until`, which only lags behind the present.
    Instant stands_until = Instant::min();
    Instant over_at = kNever;  // Instant::min() for a plan without segments.
    Commitment commitment{};
  };

  void insert(JobId job, Instant deadline, Plan plan, Instant now);
  [[nodiscard]] Entry* entry(JobId job);

  std::vector<Ledger> ledgers_;
  std::vector<Entry> plans_;  // In id order.
  std::set<std::pair<Instant, JobId>> by_deadline_;
  std::map<Instant, int> changes_;  // Moments at which plans begin a segment, and how many do.
};

/// Reads the plans at one moment, for jobs asked about in rising id order; lives until the next
/// change. Moments of later readings may not be earlier.
class Commitments::Reading {
 public:
  Reading(Commitments& commitments, Instant now)
      : entries_(commitments.plans_), next_(entries_.begin()), now_(now) {}

  /// Null if the job has no plan.
  [[nodiscard]] const Standing* find(JobId job);

 private:
  std::vector<Entry>& entries_;
  std::vector<Entry>::iterator next_;
  Instant now_;
};

}  // namespace rubato::policy::elasticflow
