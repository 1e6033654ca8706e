#include "rubato/policy/edf/promised_plans.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/policy/edf/urgency.h"

namespace rubato::policy::edf {
namespace {

// Stops at each round cost seconds; rounds closer together than this would leave no time to train.
constexpr Duration kArtifactGrid = std::chrono::seconds(60);

// Under that accounting a round that others cause stops a job too, seconds no plan of its own
// holds.
constexpr Duration kArtifactSpare = std::chrono::seconds(30);

std::vector<Ledger> empty_ledgers(const View& view) {
  std::vector<Ledger> ledgers;
  for (const int gpus : view.capacity) {
    ledgers.emplace_back(gpus);
  }
  return ledgers;
}

// True if what is left of the plan from a moment on fits; then it is reserved.
bool reserve(const Plan& plan, Instant from, std::vector<Ledger>& ledgers) {
  Ledger& ledger = ledgers[plan.pool.value];
  for (const PlanSegment& segment : plan.segments) {
    const Instant begin = std::max(segment.from, from);
    if (begin < segment.to) {
      if (ledger.min_free(begin, segment.to) < segment.workers) {
        return false;
      }
      ledger.reserve(begin, segment.to, segment.workers);
    }
  }
  return true;
}

// True if the job is over before anything can be planned for it.
bool ends_by(const JobState& job, Instant moment) {
  return job.share > 0 && job.progress.finish(job.job.work) <= moment;
}

// The promise of such a job: what its plan has after that moment is free for others.
Promise cut_at(Promise promise, Instant moment) {
  std::vector<PlanSegment>& segments = promise.plan.segments;
  std::erase_if(segments, [&](const PlanSegment& segment) { return segment.from >= moment; });
  if (!segments.empty()) {
    segments.back().to = std::min(segments.back().to, moment);
  }
  return promise;
}

}  // namespace

Duration round_grid(const View& view) {
  return view.costs.accounting() == ResizeCostModel::Artifact ? std::max(view.slot, kArtifactGrid)
                                                              : view.slot;
}

Instant planned_deadline(const JobState& job, const View& view) {
  const bool is_spared =
      view.costs.accounting() == ResizeCostModel::Artifact && job.job.has_deadline();
  return is_spared ? job.job.deadline - kArtifactSpare : job.job.deadline;
}

std::optional<ForwardPlan> earliest_plan(const JobState& job, const std::vector<Ledger>& ledgers,
                                         Instant from, Instant deadline, const View& view) {
  std::optional<ForwardPlan> best;
  for (const Pool& pool : view.topology.pools()) {
    if (job.share > 0 && job.pool() != pool.id) {
      continue;
    }
    auto plan = plan_forward(
        {.job = job, .pool = pool.id, .from = from, .deadline = deadline, .grid = round_grid(view)},
        ledgers[pool.id.value], view);
    if (plan && (!best || plan->finish < best->finish)) {
      best = std::move(plan);
    }
  }
  return best;
}

std::optional<Promises> plan_all(const Promises& promises, Instant from, const JobState* candidate,
                                 const View& view) {
  std::vector<std::tuple<bool, Urgency, const JobState*>> order;
  Promises planned;
  for (const auto& [id, promise] : promises) {
    const JobState& job = view.jobs.at(id);
    if (ends_by(job, from)) {
      planned[id] = cut_at(promise, from);
    } else {
      order.emplace_back(promise.is_late, urgency_of(job), &job);
    }
  }
  if (candidate != nullptr) {
    order.emplace_back(false, urgency_of(*candidate), candidate);
  }
  std::ranges::sort(order);
  std::vector<Ledger> ledgers = empty_ledgers(view);
  for (const auto& [is_late, urgency, job] : order) {
    const Instant deadline = is_late ? kNever : planned_deadline(*job, view);
    auto plan = earliest_plan(*job, ledgers, from, deadline, view);
    if (!plan) {
      return std::nullopt;
    }
    RUBATO_CHECK(reserve(plan->plan, from, ledgers));
    planned[job->id()] = Promise{
        .plan = std::move(plan->plan), .speed_factor = job->speed_factor, .is_late = is_late};
  }
  return planned;
}

Promises rescue(const Promises& promises, Instant from, const View& view) {
  std::vector<std::pair<Urgency, const JobState*>> order;
  Promises planned;
  for (const auto& [id, promise] : promises) {
    const JobState& job = view.jobs.at(id);
    if (ends_by(job, from)) {
      planned[id] = cut_at(promise, from);
    } else {
      order.emplace_back(urgency_of(job), &job);
    }
  }
  std::ranges::sort(order);
  std::vector<Ledger> ledgers = empty_ledgers(view);
  for (const bool is_late : {false, true}) {
    for (const auto& [urgency, job] : order) {
      if (planned.contains(job->id())) {
        continue;
      }
      const Instant deadline = is_late ? kNever : job->job.deadline;
      auto plan = earliest_plan(*job, ledgers, from, deadline, view);
      if (!plan && !is_late) {
        continue;
      }
      Promise promise{.speed_factor = job->speed_factor, .is_late = is_late};
      if (plan) {
        RUBATO_CHECK(reserve(plan->plan, from, ledgers));
        promise.plan = std::move(plan->plan);
      }
      planned[job->id()] = std::move(promise);
    }
  }
  return planned;
}

std::optional<std::vector<Ledger>> free_beside(const Promises& promises, Instant from,
                                               const View& view) {
  std::vector<Ledger> ledgers = empty_ledgers(view);
  for (const auto& [id, promise] : promises) {
    if (!reserve(promise.plan, from, ledgers)) {
      return std::nullopt;
    }
  }
  return ledgers;
}

bool fits_alone(const JobState& job, Instant from, const View& view) {
  return earliest_plan(job, empty_ledgers(view), from, planned_deadline(job, view), view)
      .has_value();
}

}  // namespace rubato::policy::edf
