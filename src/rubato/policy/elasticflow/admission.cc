// What elasticflow answers to an arriving job, as far as that can be said without changing
// anything.
#include <algorithm>
#include <utility>

#include "rubato/policy/elasticflow/elasticflow.h"

namespace rubato::policy::elasticflow {
namespace {

bool wants_promise(const JobState& job) {
  return job.job_class != JobClass::BestEffort && job.job.has_deadline();
}

// Why a job cannot have its deadline even alone, from the round at `start`; None if it could.
Reason infeasible_because(const JobState& job, const View& view, Instant start) {
  Reason reason = Reason::UnknownSpeed;
  for (const Pool& pool : view.topology.pools()) {
    const ScalingCurve& curve = view.curve(job, pool.id);
    if (curve.empty()) {
      continue;
    }
    const Duration least = from_seconds_up(job.job.work / curve.peak().speed);
    if (!wants_promise(job) || later(start, least) <= job.job.deadline) {
      return Reason::None;
    }
    reason = start >= job.job.deadline ? Reason::DeadlinePassed : Reason::DeadlineTooSoon;
  }
  return reason;
}

// The same plans on more GPUs, or on fewer.
Ledger widened(Ledger ledger, Instant from, int gpus) {
  ledger.change_capacity(from, gpus);
  return ledger;
}

}  // namespace

// What an arriving job is answered; `has_room` is asked only if that decides.
Verdict ElasticFlow::verdict_on(const JobState& job, const View& view,
                                const std::function<bool()>& has_room) const {
  Verdict verdict{.job = job.id(),
                  .reason = infeasible_because(job, view, timer_.next(view.now, view.slot))};
  if (verdict.reason == Reason::None && !wants_promise(job)) {
    return verdict;
  }
  if (verdict.reason == Reason::None) {
    if (has_room()) {
      verdict.promised = job.job.deadline;
      return verdict;
    }
    verdict.reason = Reason::PromisesInTheWay;
  }
  const bool runs_on = job.job_class == JobClass::Soft && verdict.reason != Reason::UnknownSpeed;
  verdict.kind = runs_on ? VerdictKind::Admit : VerdictKind::Refuse;
  return verdict;
}

std::optional<Decision> ElasticFlow::would(const Arrival& arrival, const View& view,
                                           long& effort) const {
  if (!commitments_ || view.costs.accounting() == ResizeCostModel::Artifact) {
    return std::nullopt;
  }
  const JobState& job = view.jobs.at(arrival.job.id);
  Decision decision;
  decision.verdicts.push_back(verdict_on(job, view, [&] {
    std::optional<Plan> plan = plan_beside_others(job, view);
    if (!plan) {
      plan = plan_with_all(job, view, effort);
    }
    if (plan) {
      decision.plans.push_back(JobPlan{.job = job.id(), .plan = *std::move(plan)});
    }
    return !decision.plans.empty();
  }));
  return decision;
}

// A plan that leaves all others as they are, if there is room for one.
std::optional<Plan> ElasticFlow::plan_beside_others(const JobState& job, const View& view) const {
  const DeadlinePlanner planner(view, charges_, timer_.next(view.now, view.slot), &grace_);
  for (const Pool& pool : view.topology.pools()) {
    const FillRequest request = planner.request(job, pool.id);
    if (request.curve->empty()) {
      continue;
    }
    const Ledger& ledger = commitments_->ledger(pool.id);
    const int more = view.capacity[pool.id.value] - ledger.free_at(kNever);
    auto plan = more == 0 ? fill(request, ledger) : fill(request, widened(ledger, view.now, more));
    if (plan) {
      plan->pool = pool.id;
      return plan;
    }
  }
  return std::nullopt;
}

// The job's plan if all plans were made anew, as replan() would make them.
std::optional<Plan> ElasticFlow::plan_with_all(const JobState& job, const View& view,
                                               long& effort) const {
  const auto count = static_cast<long>(commitments_->size());
  if (!may_replan(view) || count > effort) {
    return std::nullopt;
  }
  effort -= count;
  std::vector<const JobState*> jobs = promised_jobs(view);
  const std::vector<JobId> gone = overdue(view);
  std::erase_if(jobs, [&](const JobState* each) {
    return std::ranges::find(gone, each->id()) != gone.end();
  });
  insert_by_deadline(job, jobs);
  const auto set = DeadlinePlanner(view, charges_, timer_.next(view.now, view.slot), &grace_)
                       .plan(jobs, &job, Occasion::Arrival);
  if (!set) {
    return std::nullopt;
  }
  return std::ranges::find(set->plans, job.id(), &Commitment::job)->plan;
}

void ElasticFlow::insert_by_deadline(const JobState& newcomer, std::vector<const JobState*>& jobs) {
  const auto key = [](const JobState* job) { return std::pair(job->job.deadline, job->id()); };
  jobs.insert(std::ranges::lower_bound(jobs, key(&newcomer), {}, key), &newcomer);
}

}  // namespace rubato::policy::elasticflow
