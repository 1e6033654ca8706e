// What all policies share that decide ahead: verdicts, plans carried out at slot edges, repair.
//
// A derived policy says on arrival whether and when a job runs; from then on the plan is followed.
// A round is held at each edge of a plan, on the grid of the engine's slot, and sets every job to
// the workers its plan gives it. A plan that nodes are gone for, or that ended before the job did
// (pauses, noise), is made anew from the work that is left, without asking again what the job is
// worth: a job once admitted is never refused. If there is no room now, the job waits for some.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "rubato/policy/options.h"
#include "rubato/policy/planning/job_worth.h"
#include "rubato/policy/planning/plan_book.h"
#include "rubato/policy/planning/plan_times.h"
#include "rubato/policy/policy.h"
#include "rubato/policy/rounds/round_timer.h"

namespace rubato::policy::planning {

/// Time as planners see it.
struct PlanningOptions {
  /// Length of a planning slot; zero: a part of the job's own fastest run time, so that short and
  /// long jobs both get plans of a few slots. Longer than asked if the job would not fit otherwise.
  Duration slot{};
  int horizon = 100;  // Slots ahead that plans may reach; bounds what a decision costs. Slots of
                      // no given length grow, see slot_edges().
  double estimate = 0.5;  // Part of the observed range of prices that is believed.
  bool by_slot = false;   // The highest price is a job's value for one slot, not for all it needs.

  static constexpr int kSlotsOfFastest = 8;
};

/// Reads slot=, horizon=, estimate= and range=; no other keys are allowed but those of `more`.
[[nodiscard]] Result<PlanningOptions> planning_options(const PolicyOptions& options,
                                                       std::span<const std::string_view> more = {});

class PlanningPolicy : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = true, .plans_nodes = true};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) final;
  [[nodiscard]] std::string save() const final;
  [[nodiscard]] Status load(std::string_view state) final;

 protected:
  PlanningPolicy(SiteKind kind, const PlanningOptions& options) : options_(options), book_(kind) {}

  /// Decides on a new job that can run somewhere; books its plan, or lets it wait.
  [[nodiscard]] virtual Verdict judge(const JobState& job, const View& view) = 0;
  /// Books a plan for the work that is left of an admitted job; false if there is no room.
  [[nodiscard]] virtual bool replan(const JobState& job, const View& view) = 0;
  /// Decides on many jobs at once; called at each round before workers are handed out.
  virtual void hold_batch(const View& /*view*/, Decision& /*decision*/) {}
  /// When a round should be held for that; not before `earliest`.
  [[nodiscard]] virtual Instant next_batch(Instant /*earliest*/) const { return kNever; }
  virtual void leaves(JobId /*job*/) {}

  virtual void save_more(std::string& /*state*/) const {}
  [[nodiscard]] virtual bool restore_more(const SavedLine& /*line*/) { return false; }
  virtual void clear_more() {}

  /// The next moment at which a plan may begin.
  [[nodiscard]] Instant round_at(const View& view) const;
  /// The same for a job whose data must reach a pool first.
  [[nodiscard]] Instant ready_at(const JobState& job, PoolId pool, const View& view) const;
  /// Planning slot of a job whose fastest run takes this long.
  [[nodiscard]] Duration slot_of(Duration fastest, const View& view) const;
  /// The slots that a plan of the job in a pool may be made of, as their edges; not empty.
  [[nodiscard]] std::vector<Instant> edges_of(const JobState& job, PoolId pool, Duration fastest,
                                              const View& view) const;
  /// Moments at which an unbroken run may begin: those edges, and the ends of plans in the pool,
  /// since there room becomes free. `counts` says whose ends are looked at; without it,
  /// everybody's.
  [[nodiscard]] std::vector<Instant> starts_of(const JobState& job, PoolId pool, Duration fastest,
                                               const View& view,
                                               const std::function<bool(JobId)>& counts = {}) const;
  /// The job gets a plan as soon as there is room for one.
  void wait(JobId job) { waiting_.insert(job); }
  /// Books the earliest finish that an unbroken run can have; false if there is no room. Sites must
  /// be nodes.
  [[nodiscard]] bool book_earliest(const JobState& job, int workers_max, const View& view);
  /// A verdict for a job that no schedule is worth its price for.
  [[nodiscard]] Verdict turn_down(const JobState& job, const JobWorth& worth, const View& view);

  [[nodiscard]] const PlanningOptions& options() const { return options_; }
  [[nodiscard]] PlanBook& book() { return book_; }
  [[nodiscard]] const PlanBook& book() const { return book_; }

 private:
  void repair(const NodeChange& change, const View& view);
  void replan_or_wait(JobId job, const View& view);
  void continue_overdue(const View& view);
  void retry_waiting(const View& view);
  void add_targets(const View& view, Decision& decision) const;
  void report_plans(const View& view, Decision& decision);

  PlanningOptions options_;
  PlanBook book_;
  rounds::RoundTimer timer_;
  bool is_round_due_ = false;
  std::set<JobId> waiting_;  // Admitted, and no room in sight yet.
};

}  // namespace rubato::policy::planning
