// Quotes by asking a copy of the policy, so that a quote and the admission that follows it agree.
#include <algorithm>
#include <functional>
#include <optional>

#include "rubato/base/check.h"
#include "rubato/core/ledger.h"
#include "rubato/engine/engine.h"
#include "rubato/policy/progressive_filling.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

constexpr int kProbesMax = 48;  // Deadlines tried on the way to the earliest promise.
constexpr Duration kGrain = std::chrono::seconds{1};

using Probe = std::function<Decision(const Job&)>;

const Verdict* verdict_on(const Decision& decision, JobId job) {
  for (const Verdict& verdict : decision.verdicts) {
    if (verdict.job == job) {
      return &verdict;
    }
  }
  return nullptr;
}

bool promises(const Decision& decision, JobId job) {
  const Verdict* verdict = verdict_on(decision, job);
  return verdict != nullptr && verdict->kind == VerdictKind::Admit && verdict->promised != kNever;
}

// The quickest the job could be done alone; kLongest if it can run nowhere.
Duration quickest(const EngineState& state, SpeedId speed, double work) {
  Duration best = kLongest;
  for (const Pool& pool : state.topology.pools()) {
    const ScalingCurve& curve = state.speeds.curve(speed, pool.id);
    if (!curve.empty()) {
      best = std::min(best, from_seconds_up(work / curve.peak().speed));
    }
  }
  return best;
}

// The earliest deadline the policy would promise, found by doubling and halving.
Instant earliest_promise(const Probe& probe, Job job, Instant now, Duration alone) {
  if (alone >= kLongest) {
    return kNever;
  }
  job.job_class = JobClass::Slo;
  Duration refused = Duration{};
  Duration granted = std::max(alone, kGrain);
  int probes = 0;
  const auto would_promise = [&](Duration span) {
    job.deadline = later(now, span);
    ++probes;
    return promises(probe(job), job.id);
  };
  while (!would_promise(granted)) {
    if (probes >= kProbesMax / 2) {
      return kNever;
    }
    refused = granted;
    granted = granted * 2;
  }
  while (granted - refused > std::max(kGrain, granted / 1000) && probes < kProbesMax) {
    const Duration middle = refused + (granted - refused) / 2;
    (would_promise(middle) ? granted : refused) = middle;
  }
  return later(now, granted);
}

double gpu_hours(const Plan& plan) {
  double hours = 0;
  for (const PlanSegment& segment : plan.segments) {
    hours += to_seconds(segment.to - segment.from) / 3600 * segment.workers;
  }
  return hours;
}

// GPUs a pool would need on top for the deadline to be met beside all present plans; 0 if none
// help.
int gpus_missing(const EngineState& state, const Job& job, SpeedId speed, const Pool& pool) {
  const ScalingCurve& curve = state.speeds.curve(speed, pool.id);
  if (curve.empty()) {
    return 0;
  }
  for (int more = 1; more <= curve.peak().workers; more *= 2) {
    Ledger ledger(state.capacity[pool.id.value] + more);
    state.jobs.for_each([&](const JobState& other) {
      for (const PlanSegment& segment : other.plan.segments) {
        if (other.plan.pool == pool.id) {
          ledger.change_capacity(segment.from, -segment.workers);
          ledger.change_capacity(segment.to, segment.workers);
        }
      }
    });
    const FillRequest request{
        .curve = &curve, .work = job.work, .start = state.now, .deadline = job.deadline};
    if (fill(request, ledger)) {
      return more;
    }
  }
  return 0;
}

}  // namespace

Quote Engine::quote(Instant now, const Job& wanted) {
  RUBATO_CHECK(now >= state_->now);
  Job job = wanted;
  job.arrival = now;
  if (job.id == JobId{} || state_->jobs.find(job.id) != nullptr) {
    job.id = JobId{~std::uint64_t{0}};
  }
  const std::string saved = policy_->save();
  const Instant real_now = state_->now;
  const Random real_random = state_->random;
  const Probe probe = [&](const Job& candidate) {
    auto copy = make_policy(policy_name_);
    RUBATO_CHECK(copy.ok() && (*copy)->load(saved).ok());
    state_->now = now;
    JobState& inserted = state_->jobs.insert(candidate);
    inserted.speed = state_->speeds.resolve(candidate);
    Decision decision = (*copy)->on(Arrival{.job = candidate}, view_of(*state_));
    state_->jobs.erase(candidate.id);
    state_->now = real_now;
    state_->random = real_random;
    return decision;
  };

  const SpeedId speed = state_->speeds.resolve(job);
  const Decision decision = probe(job);
  Quote quote{.provenance = state_->speeds.provenance(speed)};
  if (const Verdict* verdict = verdict_on(decision, job.id)) {
    quote.verdict = *verdict;
  }
  for (const JobPlan& plan : decision.plans) {
    quote.gpu_hours += plan.job == job.id ? gpu_hours(plan.plan) : 0;
  }
  if (policy_->traits().promises) {
    quote.earliest = earliest_promise(probe, job, now, quickest(*state_, speed, job.work));
  }
  if (quote.verdict.kind != VerdictKind::Refuse) {
    return quote;
  }
  if (quote.earliest != kNever) {
    quote.offers.push_back({.kind = OfferKind::LaterDeadline, .deadline = quote.earliest});
  }
  int fewest = 0;
  for (const Pool& pool : state_->topology.pools()) {
    const int more = gpus_missing(*state_, job, speed, pool);
    fewest = more > 0 && (fewest == 0 || more < fewest) ? more : fewest;
  }
  if (fewest > 0) {
    quote.offers.push_back({.kind = OfferKind::MoreGpus, .gpus = fewest});
  }
  quote.offers.push_back({.kind = OfferKind::BestEffort});
  return quote;
}

}  // namespace rubato
