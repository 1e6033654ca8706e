// ElasticFlow (Gu et al., ASPLOS'23): deadlines admitted as promises, GPUs stretched to keep them.
//
// Section 4: a job is admitted iff it and all promised jobs still fit when each is given its
// minimum satisfactory share in deadline order (deadline_planner.h, progressive_filling.h); GPUs
// left over go where they cost the least extra GPU time (spare_gpus.h). Best-effort jobs, and soft
// ones for which there was no room, live on what is left over.
//
// Differences from the paper, all in the direction of keeping the promise:
// - Pauses for resizing are inside every plan. A share is only changed if the plan, with all its
//   pauses, was checked to end in time; otherwise the old plan, which was, stays. Under the
//   artifact's accounting a round stops every running job, so it is held only if all can bear it.
// - Arrivals are decided one by one, at once. A job that became late through a fault takes what is
//   left over first, and never keeps others out.
// - A new job is first fitted beside the plans as they are; only if that fails are all plans made
//   anew from the work that is really left.
// - A job whose quote is to be kept (FirmQuote) gets what is planned and no spare GPUs, and may end
//   by the deadline its owner asked for when a fault makes the quote impossible.
// - With several pools a promised job stays in the pool of its plan; the others are spread so that
//   none waits while a pool has room for it (pools.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/policy/artifact/round_charges.h"
#include "rubato/policy/elasticflow/commitments.h"
#include "rubato/policy/elasticflow/deadline_planner.h"
#include "rubato/policy/elasticflow/spare_gpus.h"
#include "rubato/policy/hypothetical.h"
#include "rubato/policy/policy_info.h"
#include "rubato/policy/rounds/round_timer.h"

namespace rubato::policy::elasticflow {

struct ElasticFlowOptions {
  /// Plans made anew within one slot at most, counted in jobs: bounds what an overload can cost, to
  /// about a tenth of a second per slot. Beyond it new jobs are only fitted beside the plans.
  long replans_per_slot = 20'000;
  /// What deadlines are early by, of the time from arrival on and at least; see
  /// grace.h.
  double grace = 0;
  Duration grace_min{};
};

class ElasticFlow final : public Policy, public Hypothetical {
 public:
  explicit ElasticFlow(const ElasticFlowOptions& options)
      : options_(options), grace_(options.grace, options.grace_min) {}

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  /// Not under the artifact's accounting, where an arrival moves everyone.
  [[nodiscard]] std::optional<Decision> would(const Arrival& arrival, const View& view,
                                              long& effort) const override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  void begin(const View& view);
  [[nodiscard]] Decision wait(const View& view, Decision decision) const;

  [[nodiscard]] Verdict verdict_on(const JobState& job, const View& view,
                                   const std::function<bool()>& has_room) const;
  [[nodiscard]] Verdict admit(const JobState& job, const View& view, Decision& decision);
  [[nodiscard]] std::optional<Plan> plan_beside_others(const JobState& job, const View& view) const;
  [[nodiscard]] bool fit_beside(const JobState& job, const View& view, Decision& decision);
  [[nodiscard]] std::optional<Plan> plan_with_all(const JobState& job, const View& view,
                                                  long& effort) const;
  [[nodiscard]] bool may_replan(const View& view) const;
  [[nodiscard]] bool replan(const View& view, Instant start, const JobState* newcomer,
                            Occasion occasion, Decision& decision);
  [[nodiscard]] std::vector<const JobState*> promised_jobs(const View& view) const;
  static void insert_by_deadline(const JobState& newcomer, std::vector<const JobState*>& jobs);
  void adopt(PlanSet set, const View& view, Decision& decision);

  [[nodiscard]] artifact::PlannedStalls stalls_after(Instant moment, const View& view) const;
  [[nodiscard]] bool holds(const JobState& job, const Plan& plan, const View& view,
                           Instant start) const;
  void correct(const JobState& job, const View& view, Decision& decision);
  void rescue(const View& view, Decision& decision);
  void give_up(JobId job, const View& view, Decision& decision);
  [[nodiscard]] std::vector<JobId> overdue(const View& view) const;
  void give_up_overdue(const View& view, Decision& decision);

  [[nodiscard]] Decision hold_round(const View& view);
  [[nodiscard]] Contender contender(const JobState& job, const Standing* standing,
                                    const ScalingCurve& curve) const;
  void gather_contenders(const View& view);
  void share_pool(const View& view, PoolId pool, std::vector<Contender>& contenders,
                  Decision& decision);
  [[nodiscard]] bool try_resize_within_promise(const View& view, const Contender& who, int workers,
                                               Decision& decision);
  [[nodiscard]] bool causes_rounds(const Plan& plan, const View& view) const;

  ElasticFlowOptions options_;
  rounds::RoundTimer timer_;
  artifact::RoundCharges charges_;
  bool opportunity_ = false;  // Something happened that a round could make use of.
  Instant budget_from_{};     // Start of the slot for which replans are counted.
  long replanned_ = 0;
  std::set<JobId> late_;  // Promised jobs that no plan can save any more.
  DeadlineGrace grace_;

  // Rebuilt from the plans in the view after load().
  std::optional<Commitments> commitments_;
  artifact::PlannedStalls stalls_;  // Rounds to come that plans cause; made anew at each event.

  // Of the round being held, by pool; empty between rounds, kept for its memory.
  std::vector<std::vector<Contender>> contenders_;
};

[[nodiscard]] Result<std::unique_ptr<Policy>> make_elasticflow(const PolicyOptions& options);

[[nodiscard]] PolicyInfo elasticflow_policy();

}  // namespace rubato::policy::elasticflow
