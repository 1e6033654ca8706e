#include "rubato/policy/elasticflow/elasticflow.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "rubato/policy/elasticflow/pools.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::elasticflow {
namespace {

using artifact::PlannedStalls;

bool stops_everyone(const View& view) {
  return view.costs.accounting() == ResizeCostModel::Artifact;
}

// The part of a plan that lies in [from, to).
Plan within(const Plan& plan, Instant from, Instant to) {
  Plan part{.pool = plan.pool};
  for (const PlanSegment& segment : plan.segments) {
    const PlanSegment cut{.from = std::max(segment.from, from),
                          .to = std::min(segment.to, to),
                          .workers = segment.workers};
    if (cut.from < cut.to) {
      part.segments.push_back(cut);
    }
  }
  return part;
}

// True if the job ends earlier with this many workers, the pause of changing included, and is not
// to end when it was quoted.
bool finishes_sooner(const Contender& who, int workers, const View& view) {
  const JobState& job = *who.state;
  if (job.quote.is_kept()) {
    return false;
  }
  if (job.share == 0) {
    return true;
  }
  const double left = job.work_left(view.now) / job.speed_factor;
  const Duration pause = planned_pause(view.costs, job.job, job.share, workers);
  return to_seconds(pause) + left / who.curve->speed(workers) < left / who.curve->speed(job.share);
}

}  // namespace

Traits ElasticFlow::traits() const {
  return Traits{.resizes = true,
                .promises = true,
                .keeps_quotes = true,
                .artifact_charge = ArtifactCharge::EveryRound};
}

// Makes the ledgers, or after load() makes them again from the plans the engine kept.
void ElasticFlow::begin(const View& view) {
  const Instant handled = timer_.last() == kNever ? Instant::min() : timer_.last();
  if (!commitments_) {
    // The event may be that nodes are gone: the plans were made when they were not.
    std::vector<int> when_whole;
    for (const Pool& pool : view.topology.pools()) {
      when_whole.push_back(pool.gpus);
    }
    commitments_.emplace(when_whole);
    view.jobs.for_each([&](const JobState& job) {
      if (job.promised != kNever && !late_.contains(job.id())) {
        commitments_->set(job.id(), job.job.deadline, job.plan, view.now);
      }
    });
    for (const Pool& pool : view.topology.pools()) {
      commitments_->change_capacity(pool.id, view.now, view.capacity[pool.id.value] - pool.gpus);
    }
  }
  commitments_->advance(view.now, handled);
  stalls_ = stalls_after(view.now, view);
}

// The rounds after a moment that plans cause, where these stop everyone.
PlannedStalls ElasticFlow::stalls_after(Instant moment, const View& view) const {
  PlannedStalls stalls;
  if (stops_everyone(view)) {
    for (const Instant at : commitments_->changes_after(moment)) {
      stalls.add(at, charges_.ordinary(view.costs));
    }
  }
  return stalls;
}

Decision ElasticFlow::on(const Event& event, const View& view) {
  begin(view);
  Decision decision;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(admit(view.jobs.at(arrival->job.id), view, decision));
    opportunity_ |= decision.verdicts.back().kind == VerdictKind::Admit;
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    commitments_->drop(completion->job, view.now);
    late_.erase(completion->job);
    grace_.forget(completion->job);
    opportunity_ = true;
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    if (const JobState* job = view.jobs.find(report->job)) {
      correct(*job, view, decision);
    }
  } else if (std::holds_alternative<NodeChange>(event)) {
    rescue(view, decision);
    opportunity_ = true;
  } else if (std::holds_alternative<Tick>(event)) {
    return hold_round(view);
  }
  return wait(view, std::move(decision));
}

// Asks to be woken for the next planned change, or sooner if a round could be of use.
Decision ElasticFlow::wait(const View& view, Decision decision) const {
  decision.wake_at = std::max(view.now, commitments_->next_change());
  if (opportunity_) {
    decision.wake_at = std::min(decision.wake_at, timer_.next(view.now, view.slot));
  }
  return decision;
}

// --- Admission -------------------------------------------------------------------------------

Verdict ElasticFlow::admit(const JobState& job, const View& view, Decision& decision) {
  const Instant start = timer_.next(view.now, view.slot);
  return verdict_on(job, view, [&] {
    return fit_beside(job, view, decision) ||
           replan(view, start, &job, Occasion::Arrival, decision);
  });
}

// The common case: there is room beside everything already promised.
bool ElasticFlow::fit_beside(const JobState& job, const View& view, Decision& decision) {
  if (stops_everyone(view)) {
    return false;  // Starting this job stops all others: they must be looked at.
  }
  const auto plan = plan_beside_others(job, view);
  if (plan) {
    decision.plans.push_back(JobPlan{.job = job.id(), .plan = *plan});
    commitments_->set(job.id(), job.job.deadline, *plan, view.now);
  }
  return plan.has_value();
}

std::vector<const JobState*> ElasticFlow::promised_jobs(const View& view) const {
  std::vector<const JobState*> jobs;
  for (const auto& [deadline, id] : commitments_->by_deadline()) {
    jobs.push_back(&view.jobs.at(id));
  }
  return jobs;
}

void ElasticFlow::adopt(PlanSet set, const View& view, Decision& decision) {
  for (const Commitment& each : set.plans) {
    decision.plans.push_back(JobPlan{.job = each.job, .plan = each.plan});
  }
  stalls_ = std::move(set.stalls);
  commitments_->replace_all(set.plans, view.capacity);
}

// Whether what may be planned anew within one slot is not spent yet.
bool ElasticFlow::may_replan(const View& view) const {
  const long before = view.now - budget_from_ >= view.slot ? 0 : replanned_;
  return before + static_cast<long>(commitments_->size()) <= options_.replans_per_slot;
}

// Makes all plans anew, with the newcomer if there is one; if they do not fit, all stays as it is.
bool ElasticFlow::replan(const View& view, Instant start, const JobState* newcomer,
                         Occasion occasion, Decision& decision) {
  const bool is_allowed = may_replan(view);
  if (view.now - budget_from_ >= view.slot) {
    budget_from_ = view.now;
    replanned_ = 0;
  }
  replanned_ += static_cast<long>(commitments_->size());
  if (!is_allowed) {
    return false;
  }
  give_up_overdue(view, decision);
  std::vector<const JobState*> jobs = promised_jobs(view);
  if (newcomer != nullptr) {
    insert_by_deadline(*newcomer, jobs);
  }
  auto set = DeadlinePlanner(view, charges_, start, &grace_).plan(jobs, newcomer, occasion);
  if (!set) {
    return false;
  }
  adopt(*std::move(set), view, decision);
  return true;
}

// --- Faults ----------------------------------------------------------------------------------

// Whether what is left of a job's plan does the work that is left, from `start` on.
bool ElasticFlow::holds(const JobState& job, const Plan& plan, const View& view,
                        Instant start) const {
  const PlannedStalls stalls = stalls_after(start, view);
  FillRequest request = DeadlinePlanner(view, charges_, start, &grace_).request(job, plan.pool);
  request.ready = std::max(request.ready, start);
  request.ready += start > view.now ? charges_.coming(view.costs) : Duration{};
  request.reserve = charges_.restarts(view.costs, stalls.size());
  request.stalls = &stalls;
  return completes(request, within(plan, start, kNever));
}

// A report may say that a job is slower than planned or lost its workers: plan its rest anew.
void ElasticFlow::correct(const JobState& job, const View& view, Decision& decision) {
  opportunity_ |= job.share == 0;
  const Plan* old_plan = commitments_->find(job.id());
  if (old_plan == nullptr) {
    return;
  }
  // A deadline that became later leaves room for others.
  const bool is_new_deadline = !commitments_->by_deadline().contains({job.job.deadline, job.id()});
  const Instant start = timer_.next(view.now, view.slot);
  // Plans may have been made for now or, with all shares kept until then, for the next round.
  const bool is_round_due = commitments_->next_change() <= view.now;
  const bool has_its_share = is_round_due || job.share >= old_plan->at(view.now);
  const bool is_given_it_back = has_its_share || !stops_everyone(view);  // No round, no workers.
  const bool holds_still = (has_its_share && holds(job, *old_plan, view, view.now)) ||
                           (is_given_it_back && holds(job, *old_plan, view, start));
  if (holds_still && !is_new_deadline) {
    return;
  }
  opportunity_ = true;
  if (stops_everyone(view)) {
    rescue(view, decision);  // A change of one plan would stop the others.
    return;
  }
  const PoolId pool = old_plan->pool;
  const Plan saved = commitments_->drop(job.id(), view.now);
  const auto plan = fill(DeadlinePlanner(view, charges_, start, &grace_).request(job, pool),
                         commitments_->ledger(pool));
  Plan kept = within(saved, view.now, start);  // Its share is not to be given away before then.
  if (plan) {
    kept.segments.insert(kept.segments.end(), plan->segments.begin(), plan->segments.end());
  }
  decision.plans.push_back(JobPlan{.job = job.id(), .plan = kept});
  commitments_->set(job.id(), job.job.deadline, std::move(kept), view.now);
  if (!plan) {
    rescue(view, decision);
  }
}

// Plans anew after nodes or speeds changed. In deadline order, whoever does not fit behind the
// others uses its grace or is given up; who was given up before gets another chance.
void ElasticFlow::rescue(const View& view, Decision& decision) {
  for (const JobId id : late_) {
    commitments_->set(id, view.jobs.at(id).job.deadline, Plan{}, view.now);
  }
  late_.clear();
  grace_.loosen(view.jobs);
  const DeadlinePlanner planner(view, charges_, timer_.next(view.now, view.slot), &grace_);
  std::optional<PlanSet> set;
  while (!set) {
    const std::vector<const JobState*> jobs = promised_jobs(view);
    // If all fit but never bear the rounds they cause, the last one goes.
    JobId failed = jobs.empty() ? JobId{} : jobs.back()->id();
    set = planner.plan(jobs, nullptr, Occasion::Rescue, &failed);
    if (!set && !jobs.empty() && !grace_.grant(view.jobs.at(failed))) {
      give_up(failed, view, decision);
    }
  }
  for (const Commitment& each : set->plans) {
    if (!each.plan.empty()) {
      grace_.tighten(view.jobs.at(each.job), each.plan.finish());
    }
  }
  adopt(*std::move(set), view, decision);
}

void ElasticFlow::give_up(JobId job, const View& view, Decision& decision) {
  commitments_->drop(job, view.now);
  late_.insert(job);
  decision.plans.push_back(JobPlan{.job = job, .plan = Plan{}});
}

// Jobs whose plan is over although they are not: only a fault can have done that.
std::vector<JobId> ElasticFlow::overdue(const View& view) const {
  std::vector<JobId> jobs = commitments_->over_by(view.now);
  std::erase_if(jobs, [&](JobId id) {
    const JobState& job = view.jobs.at(id);
    // Who was to be done before plans begin has none.
    const bool may_end = commitments_->find(id)->empty() && job.share > 0;
    return may_end && job.progress.finish(job.job.work) > view.now;
  });
  return jobs;
}

void ElasticFlow::give_up_overdue(const View& view, Decision& decision) {
  bool has_grace = false;
  for (const JobId id : overdue(view)) {
    if (grace_.is_given_to(view.jobs.at(id)) && grace_.latest(view.jobs.at(id)) > view.now) {
      has_grace = true;
    } else {
      give_up(id, view, decision);
    }
  }
  if (has_grace) {
    rescue(view, decision);
  }
}

// --- Rounds ----------------------------------------------------------------------------------

Decision ElasticFlow::hold_round(const View& view) {
  Decision decision;
  give_up_overdue(view, decision);
  const bool is_planned = commitments_->next_change() <= view.now;
  if (!is_planned && stops_everyone(view) &&
      !replan(view, view.now, nullptr, Occasion::Opportunity, decision)) {
    opportunity_ = false;  // Stopping everyone now could break a promise.
    return wait(view, std::move(decision));
  }
  gather_contenders(view);
  decision.is_round = true;
  for (const Pool& pool : view.topology.pools()) {
    share_pool(view, pool.id, contenders_[pool.id.value], decision);
    contenders_[pool.id.value].clear();
  }
  timer_.held(view.now);
  charges_.held(view.now);
  commitments_->advance(view.now, view.now);
  opportunity_ = false;
  return wait(view, std::move(decision));
}

// All jobs that could use GPUs now. Those without a plan are spread once all plans have theirs.
void ElasticFlow::gather_contenders(const View& view) {
  contenders_.resize(view.topology.pools().size());
  for (std::vector<Contender>& each : contenders_) {
    each.reserve(view.jobs.size() / contenders_.size());
  }
  const bool is_single = contenders_.size() == 1;
  FreeGpus rooms(view.capacity);
  std::vector<Contender> unplanned;
  Commitments::Reading plans(*commitments_, view.now);
  view.jobs.for_each([&](const JobState& job) {
    if (!job.admitted) {
      return;
    }
    const Standing* standing = plans.find(job.id());
    const PoolId pool = standing == nullptr ? PoolId{} : standing->pool;
    const Contender each = contender(job, standing, view.curve(job, pool));
    if (standing == nullptr && !is_single) {
      unplanned.push_back(each);
      return;
    }
    rooms.reserve(pool, each.floor);
    contenders_[pool.value].push_back(each);
  });
  std::ranges::sort(unplanned, {}, [](const Contender& each) {
    return std::tuple(each.turn, each.arrival, each.id);
  });
  for (Contender& each : unplanned) {
    const PoolId pool = rooms.seat(*each.state, view);
    each.curve = &view.curve(*each.state, pool);
    contenders_[pool.value].push_back(each);
  }
}

Contender ElasticFlow::contender(const JobState& job, const Standing* standing,
                                 const ScalingCurve& curve) const {
  // Late jobs start before unpromised ones, and those before jobs whose turn is still to come.
  const bool is_late = !late_.empty() && late_.contains(job.id());
  const int turn = is_late ? 0 : standing == nullptr ? 1 : 2;
  return {job, curve, standing == nullptr ? 0 : standing->workers, turn};
}

void ElasticFlow::share_pool(const View& view, PoolId pool, std::vector<Contender>& contenders,
                             Decision& decision) {
  const SpareRules rules{
      .finishes_sooner = [&](const Contender& who,
                             int workers) { return finishes_sooner(who, workers, view); },
      .try_resize_within_promise =
          [&](const Contender& who, int workers) {
            return try_resize_within_promise(view, who, workers, decision);
          }};
  share_out(contenders, view.capacity[pool.value], rules);
  for (const Contender& each : contenders) {
    const bool moves = each.workers > 0 && each.share > 0 && each.state->pool() != pool;
    if (each.workers != each.share || moves) {
      decision.targets.push_back(Target{.job = each.id, .pool = pool, .workers = each.workers});
    }
  }
}

// Whether a promised job may leave its planned share: its rest is planned anew as if it had to come
// back at once, so that both pauses are paid for before the first is made.
bool ElasticFlow::try_resize_within_promise(const View& view, const Contender& who, int workers,
                                            Decision& decision) {
  const JobState& job = *who.state;
  const Plan* old_plan = commitments_->find(job.id());
  if (old_plan == nullptr) {
    return true;
  }
  const PoolId pool = old_plan->pool;
  const DeadlinePlanner planner(view, charges_, view.now, &grace_);
  FillRequest request = planner.request(job, pool);
  request.ready = std::max(request.ready, view.now) + charges_.coming(view.costs) +
                  planned_pause(view.costs, job.job, job.share, workers);
  request.reserve = planner.reserve(job, /*is_new=*/false, Occasion::Arrival) +
                    charges_.restarts(view.costs, stalls_.size());
  request.share = workers;
  request.stalls = stalls_.empty() ? nullptr : &stalls_;
  Plan saved = commitments_->drop(job.id(), view.now);
  auto plan = fill(request, commitments_->ledger(pool));
  // A plan that wants more from now on than the job is about to get would not be followed; the old
  // one may still do, with the job ahead of it.
  if (!plan || plan->at(view.now) > workers || causes_rounds(*plan, view)) {
    const bool is_borne = completes(request, within(saved, view.now, kNever));
    commitments_->set(job.id(), job.job.deadline, std::move(saved), view.now);
    return is_borne;
  }
  plan->pool = pool;
  decision.plans.push_back(JobPlan{.job = job.id(), .plan = *plan});
  commitments_->set(job.id(), job.job.deadline, *std::move(plan), view.now);
  return true;
}

// Whether a plan wants rounds that would stop jobs which did not reckon with them.
bool ElasticFlow::causes_rounds(const Plan& plan, const View& view) const {
  return stops_everyone(view) &&
         std::ranges::any_of(plan.segments, [&](const PlanSegment& segment) {
           return segment.from > view.now && !commitments_->changes_at(segment.from);
         });
}

// --- State -----------------------------------------------------------------------------------

std::string ElasticFlow::save() const {
  const auto micros = [](Instant moment) { return moment.time_since_epoch().count(); };
  std::string state;
  append_line(state, "rounds",
              {charges_.rounds(), micros(charges_.first()), micros(timer_.last())});
  append_line(state, "replans", {replanned_, micros(budget_from_), opportunity_ ? 1 : 0});
  for (const JobId id : late_) {
    append_line(state, "late", {static_cast<std::int64_t>(id.value)});
  }
  for (const auto& [id, deadline] : grace_.granted()) {
    append_line(state, "grace", {static_cast<std::int64_t>(id.value), micros(deadline)});
  }
  return state;
}

Status ElasticFlow::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  ElasticFlow loaded(options_);
  for (const SavedLine& line : *lines) {
    if (line.word == "rounds" && line.numbers.size() == 3) {
      loaded.charges_.restore(line.numbers[0], Instant{Duration{line.numbers[1]}});
      loaded.timer_.held(Instant{Duration{line.numbers[2]}});
    } else if (line.word == "replans" && line.numbers.size() == 3) {
      loaded.replanned_ = line.numbers[0];
      loaded.budget_from_ = Instant{Duration{line.numbers[1]}};
      loaded.opportunity_ = line.numbers[2] != 0;
    } else if (line.word == "late" && line.numbers.size() == 1) {
      loaded.late_.insert(JobId{static_cast<std::uint64_t>(line.numbers[0])});
    } else if (line.word == "grace" && line.numbers.size() == 2) {
      loaded.grace_.restore(JobId{static_cast<std::uint64_t>(line.numbers[0])},
                            Instant{Duration{line.numbers[1]}});
    } else {
      return unexpected(line);
    }
  }
  *this = std::move(loaded);
  return ok_status();
}

}  // namespace rubato::policy::elasticflow
