#include "rubato/policy/elasticflow/deadline_planner.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace rubato::policy::elasticflow {
namespace {

// Of a slot: the margin of late plans that are to end on time and not before.
constexpr int kLateSlotPart = 3;

// How often plans are made again for the rounds they turned out to cause.
constexpr int kStallPasses = 4;

// Ways to plan, to try in turn: where changes are cheap, room for others first; where each stops
// everyone, few changes first, and for a newcomer's sake at last less time in hand for the others.
using Tactic = DeadlinePlanner::Tactic;
constexpr double kPart = 0.25;
constexpr std::array<Tactic, 2> kMostRoom = {{{FillShape::Late, 1}, {FillShape::Early, 1}}};
constexpr std::array<Tactic, 4> kFewRounds = {{{FillShape::Early, 1},
                                               {FillShape::Late, 1},
                                               {FillShape::Early, kPart},
                                               {FillShape::Late, kPart}}};

// Times the expected cost of rounds that a job keeps in hand, and rounds more for a newcomer: an
// admitted job without any time in hand would keep everyone after it out.
constexpr double kCaution = 2;
constexpr double kOpportunityCaution = 4;
constexpr double kNewcomerRounds = 3;

}  // namespace

// True if the job is done before plans begin: its deadline, perhaps before then too, is kept.
bool DeadlinePlanner::ends_before_plans(const JobState& job) const {
  return job.share > 0 && job.progress.finish(job.job.work) <= std::min(start_, deadline_of(job));
}

FillRequest DeadlinePlanner::request(const JobState& job, PoolId pool) const {
  return FillRequest{.curve = &view_.curve(job, pool),
                     .speed_factor = job.speed_factor,
                     .work = std::max(job.job.work - job.progress.at(start_), 0.0),
                     .start = start_,
                     .deadline = deadline_of(job),
                     .ready = job.share > 0 ? job.progress.paused_until : Instant{},
                     .shape = changes_stop_everyone() ? FillShape::Early : FillShape::Late,
                     .late_margin = job.quote.is_kept()
                                        ? std::min(kLateMargin, view_.slot / kLateSlotPart)
                                        : kLateMargin,
                     .soonest = job.quote.is_kept() ? job.quote.soonest : Instant::min(),
                     .share = job.share,
                     .job = &job.job,
                     .costs = &view_.costs};
}

Duration DeadlinePlanner::reserve(const JobState& job, bool is_new, Occasion occasion) const {
  const Duration charge = charges_.ordinary(view_.costs);
  if (charge == Duration{} || occasion == Occasion::Rescue) {
    return Duration{};
  }
  const Duration window = job.job.deadline - start_;
  const double expected = charges_.expected(view_.now, window, view_.slot);
  const double caution = occasion == Occasion::Opportunity ? kOpportunityCaution : kCaution;
  const double rounds = std::min(to_seconds(window) / to_seconds(view_.slot),
                                 caution * expected + (is_new ? kNewcomerRounds : 0));
  return from_seconds(to_seconds(charge) * std::max(rounds, 0.0));
}

// A plan in the pool the job runs in or, if it does not run, in the first pool with room for it.
std::optional<Plan> DeadlinePlanner::plan_one(const JobState& job, const FillRequest& like,
                                              std::span<const Ledger> ledgers) const {
  for (const Pool& pool : view_.topology.pools()) {
    FillRequest here = like;
    here.curve = &view_.curve(job, pool.id);
    if (here.curve->empty() || (job.share > 0 && job.pool() != pool.id)) {
      continue;
    }
    if (auto plan = fill(here, ledgers[pool.id.value])) {
      plan->pool = pool.id;
      return plan;
    }
  }
  return std::nullopt;
}

// One pass in deadline order; `set.stalls` are the rounds to reckon with. On failure the plans made
// so far are left in `set`.
bool DeadlinePlanner::plan_once(std::span<const JobState* const> jobs, const JobState* newcomer,
                                Occasion occasion, const Tactic& tactic, PlanSet& set) const {
  std::vector<Ledger> ledgers;
  for (const int gpus : view_.capacity) {
    ledgers.emplace_back(gpus);
  }
  set.plans.clear();
  set.plans.reserve(jobs.size());
  const Duration restarts = charges_.restarts(view_.costs, set.stalls.size());
  for (const JobState* job : jobs) {
    FillRequest wanted = request(*job, job->pool());
    wanted.shape = tactic.shape;
    wanted.ready = std::max(wanted.ready, start_) + charges_.coming(view_.costs);
    const double part = job == newcomer ? 1 : tactic.reserve_part;
    const Duration reserve = this->reserve(*job, job == newcomer, occasion);
    wanted.reserve = from_seconds(part * to_seconds(reserve)) + restarts;
    wanted.stalls = set.stalls.empty() ? nullptr : &set.stalls;
    auto plan =
        ends_before_plans(*job) ? Plan{.pool = job->pool()} : plan_one(*job, wanted, ledgers);
    if (!plan) {
      return false;
    }
    for (const PlanSegment& segment : plan->segments) {
      ledgers[plan->pool.value].reserve(segment.from, segment.to, segment.workers);
    }
    set.plans.push_back(
        Commitment{.job = job->id(), .deadline = job->job.deadline, .plan = *std::move(plan)});
  }
  return true;
}

// The rounds after the coming one that these plans cause.
artifact::PlannedStalls DeadlinePlanner::stalls_of(const std::vector<Commitment>& plans) const {
  std::set<Instant> moments;
  for (const Commitment& each : plans) {
    for (const PlanSegment& segment : each.plan.segments) {
      if (segment.from > start_) {
        moments.insert(segment.from);
      }
    }
  }
  artifact::PlannedStalls stalls;
  for (const Instant at : moments) {
    stalls.add(at, charges_.ordinary(view_.costs));
  }
  return stalls;
}

// Whether the plans survive the rounds they cause.
bool DeadlinePlanner::all_complete(std::span<const JobState* const> jobs,
                                   const PlanSet& set) const {
  const Duration restarts = charges_.restarts(view_.costs, set.stalls.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    FillRequest wanted = request(*jobs[i], set.plans[i].plan.pool);
    wanted.ready = std::max(wanted.ready, start_) + charges_.coming(view_.costs);
    wanted.reserve = restarts;
    wanted.stalls = &set.stalls;
    if (!completes(wanted, set.plans[i].plan)) {
      return false;
    }
  }
  return true;
}

// Plans anew for the rounds that the last plans cause, until they survive them.
std::optional<PlanSet> DeadlinePlanner::plan_by(const Tactic& tactic,
                                                std::span<const JobState* const> jobs,
                                                const JobState* newcomer, Occasion occasion,
                                                JobId* failed) const {
  PlanSet set;
  for (int pass = 0; pass < kStallPasses; ++pass) {
    if (!plan_once(jobs, newcomer, occasion, tactic, set)) {
      if (failed != nullptr) {
        *failed = jobs[set.plans.size()]->id();
      }
      return std::nullopt;
    }
    if (!changes_stop_everyone()) {
      return set;
    }
    set.stalls = stalls_of(set.plans);
    if (all_complete(jobs, set)) {
      return set;
    }
  }
  return std::nullopt;
}

std::optional<PlanSet> DeadlinePlanner::plan(std::span<const JobState* const> jobs,
                                             const JobState* newcomer, Occasion occasion,
                                             JobId* failed) const {
  const std::span<const Tactic> tactics = changes_stop_everyone()
                                              ? std::span<const Tactic>(kFewRounds)
                                              : std::span<const Tactic>(kMostRoom);
  for (const Tactic& tactic : tactics) {
    if (tactic.reserve_part < 1 && occasion != Occasion::Arrival) {
      break;
    }
    if (auto set = plan_by(tactic, jobs, newcomer, occasion, failed)) {
      return set;
    }
  }
  return std::nullopt;
}

}  // namespace rubato::policy::elasticflow
