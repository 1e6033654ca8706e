// Plans for all promised jobs at once: deadline order, each at its minimum satisfactory share.
//
// ElasticFlow (ASPLOS'23), Algorithm 1. Where a round stops every running job (the artifact's
// accounting) plans cause the very rounds that hurt them, so they are made, checked against the
// rounds they cause, and made again with those in mind.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rubato/core/job_state.h"
#include "rubato/policy/artifact/planned_stalls.h"
#include "rubato/policy/artifact/round_charges.h"
#include "rubato/policy/elasticflow/commitments.h"
#include "rubato/policy/elasticflow/grace.h"
#include "rubato/policy/elasticflow/progressive_filling.h"
#include "rubato/policy/view.h"

namespace rubato::policy::elasticflow {

/// Why plans are made anew; decides how much time jobs must keep in hand for rounds to come.
enum class Occasion {
  Arrival,      // A job is to be admitted: it is worth a round.
  Opportunity,  // GPUs became free: only if everyone can bear the round easily.
  Rescue,       // Something broke: whatever keeps the promises.
};

/// Plans in deadline order and the rounds they cause.
struct PlanSet {
  std::vector<Commitment> plans{};
  artifact::PlannedStalls stalls{};
};

/// Borrows its arguments; made for one decision. `start` is the round from which on plans may
/// differ from what jobs have now.
class DeadlinePlanner {
 public:
  /// One way to plan: the shape of plans, and the part of their reserve jobs must keep.
  struct Tactic {
    FillShape shape = FillShape::Early;
    double reserve_part = 1;
  };

  /// `grace`: none if null.
  DeadlinePlanner(const View& view, const artifact::RoundCharges& charges, Instant start,
                  const DeadlineGrace* grace = nullptr)
      : view_(view), charges_(charges), start_(start), grace_(grace) {}

  /// Plans for `jobs` (in deadline order), or nothing if one of them would be late; `newcomer`, if
  /// any, is among them. `failed` is set to the first job that did not fit.
  [[nodiscard]] std::optional<PlanSet> plan(std::span<const JobState* const> jobs,
                                            const JobState* newcomer, Occasion occasion,
                                            JobId* failed = nullptr) const;

  /// What is left to plan of one job in one pool.
  [[nodiscard]] FillRequest request(const JobState& job, PoolId pool) const;
  /// Time a job must have in hand beyond its plan.
  [[nodiscard]] Duration reserve(const JobState& job, bool is_new, Occasion occasion) const;

 private:
  [[nodiscard]] bool changes_stop_everyone() const {
    return view_.costs.accounting() == ResizeCostModel::Artifact;
  }
  [[nodiscard]] std::optional<PlanSet> plan_by(const Tactic& tactic,
                                               std::span<const JobState* const> jobs,
                                               const JobState* newcomer, Occasion occasion,
                                               JobId* failed) const;
  [[nodiscard]] bool plan_once(std::span<const JobState* const> jobs, const JobState* newcomer,
                               Occasion occasion, const Tactic& tactic, PlanSet& set) const;
  [[nodiscard]] std::optional<Plan> plan_one(const JobState& job, const FillRequest& like,
                                             std::span<const Ledger> ledgers) const;
  [[nodiscard]] artifact::PlannedStalls stalls_of(const std::vector<Commitment>& plans) const;
  [[nodiscard]] bool all_complete(std::span<const JobState* const> jobs, const PlanSet& set) const;

  [[nodiscard]] Instant deadline_of(const JobState& job) const {
    return grace_ == nullptr ? job.job.deadline : grace_->deadline(job);
  }
  [[nodiscard]] bool ends_before_plans(const JobState& job) const;

  const View& view_;
  const artifact::RoundCharges& charges_;
  Instant start_;
  const DeadlineGrace* grace_;
};

}  // namespace rubato::policy::elasticflow
