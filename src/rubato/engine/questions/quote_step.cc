// Quotes by asking the policy what it would do, or a copy of it what it does, so that a quote and
// the admission that follows it agree.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/engine/engine.h"
#include "rubato/policy/hypothetical.h"

namespace rubato {
namespace {

constexpr int kDoublingsMax = 24;  // Of the deadline, on the way to one that is granted.
constexpr Duration kGrain = std::chrono::seconds{1};
constexpr int kGrainShare = 1000;  // Of long spans, this part is near enough.
// Plans that may be made anew to look for offers. On a cluster with more promises than that a
// search only finds what fits beside them: offers that hold, but perhaps not the best.
constexpr long kSearchEffort = 10'000;

/// The policy in use and the way to copies of it.
struct AskedPolicy {
  const Policy& policy;
  const PolicyMaker& maker;
};

/// Asks what would be decided if a job arrived; leaves everything as it was. Lives for one quote.
class Prober {
 public:
  Prober(EngineState& state, const AskedPolicy& asked, Instant now)
      : state_(state),
        asked_(asked),
        hypothetical_(dynamic_cast<const Hypothetical*>(&asked.policy)),
        now_(now) {}

  /// From now on the effort for all questions together is bounded.
  void begin_search() { effort_ = kSearchEffort; }

  [[nodiscard]] Decision ask(const Job& job) {
    const Instant real_now = std::exchange(state_.now, now_);
    const Random real_random = state_.random;
    state_.jobs.insert(job).speed = state_.speeds.resolve(job);
    const Arrival arrival{.job = job};
    std::optional<Decision> told;
    if (hypothetical_ != nullptr) {
      told = hypothetical_->would(arrival, view_of(state_), effort_);
    }
    Decision decision = told ? *std::move(told) : ask_copy(arrival);
    state_.jobs.erase(job.id);
    state_.random = real_random;
    state_.now = real_now;
    return decision;
  }

  /// The same with more GPUs in one pool.
  [[nodiscard]] Decision ask_with(const Job& job, PoolId pool, int more) {
    state_.capacity[pool.value] += more;
    Decision decision = ask(job);
    state_.capacity[pool.value] -= more;
    return decision;
  }

  [[nodiscard]] const EngineState& state() const { return state_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  [[nodiscard]] Decision ask_copy(const Arrival& arrival) {
    if (!saved_) {
      saved_ = asked_.policy.save();
    }
    auto copy = asked_.maker();
    RUBATO_CHECK(copy->load(*saved_).ok());
    return copy->on(arrival, view_of(state_));
  }

  EngineState& state_;
  const AskedPolicy& asked_;
  const Hypothetical* hypothetical_;  // Null if it is none.
  std::optional<std::string> saved_;
  Instant now_;
  long effort_ = std::numeric_limits<long>::max();
};

// What a decision says about a job; without a word about it the answer comes later.
Verdict verdict_on(const Decision& decision, JobId job) {
  const auto found = std::ranges::find(decision.verdicts, job, &Verdict::job);
  return found == decision.verdicts.end() ? Verdict{.job = job, .kind = VerdictKind::Defer}
                                          : *found;
}

bool refuses(const Decision& decision, JobId job) {
  return verdict_on(decision, job).kind == VerdictKind::Refuse;
}

bool promises(const Decision& decision, JobId job) {
  const Verdict verdict = verdict_on(decision, job);
  return verdict.kind == VerdictKind::Admit && verdict.promised != kNever;
}

// The job's plan, the last one if there are several; empty if there is none.
Plan plan_for(const Decision& decision, JobId job) {
  Plan plan;
  for (const JobPlan& each : decision.plans) {
    if (each.job == job) {
      plan = each.plan;
    }
  }
  return plan;
}

double gpu_hours_of(const Plan& plan) {
  double hours = 0;
  for (const PlanSegment& segment : plan.segments) {
    hours += to_seconds(segment.to - segment.from) / 3600 * segment.workers;
  }
  return hours;
}

// The earliest deadline that would be promised, found by doubling and halving; kNever if none.
Instant earliest_promise(Prober& prober, Job job, Duration alone) {
  job.job_class = JobClass::Slo;
  const auto grants = [&](Duration span) {
    job.deadline = later(prober.now(), span);
    return promises(prober.ask(job), job.id);
  };
  Duration granted = std::max(alone, kGrain);
  Duration refused = granted;  // Nothing can be done sooner than alone.
  for (int doublings = 0; granted < kLongest && !grants(granted); ++doublings) {
    if (doublings == kDoublingsMax) {
      return kNever;
    }
    refused = granted;
    granted = std::min(granted * 2, kLongest);
  }
  if (granted >= kLongest) {
    return kNever;
  }
  while (granted - refused > std::max(kGrain, granted / kGrainShare)) {
    const Duration middle = refused + (granted - refused) / 2;
    (grants(middle) ? granted : refused) = middle;
  }
  return later(prober.now(), granted);
}

// The fewest GPUs that one pool would need on top for the job to be admitted; 0 if none help.
int gpus_missing(Prober& prober, const Job& job, const Pool& pool, SpeedId speed) {
  const ScalingCurve& curve = prober.state().speeds.curve(speed, pool.id);
  if (curve.empty()) {
    return 0;
  }
  const auto helps = [&](int more) {
    return !refuses(prober.ask_with(job, pool.id, more), job.id);
  };
  int enough = curve.peak().workers;  // With so many it could run as if alone.
  if (!helps(enough)) {
    return 0;
  }
  int too_few = 0;
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    (helps(middle) ? enough : too_few) = middle;
  }
  return enough;
}

int fewest_missing(Prober& prober, const Job& job, SpeedId speed) {
  int fewest = 0;
  for (const Pool& pool : prober.state().topology.pools()) {
    const int more = gpus_missing(prober, job, pool, speed);
    fewest = more > 0 && (fewest == 0 || more < fewest) ? more : fewest;
  }
  return fewest;
}

std::vector<CounterOffer> offers_for(Prober& prober, const Job& job, SpeedId speed,
                                     Instant earliest) {
  std::vector<CounterOffer> offers;
  if (earliest != kNever) {
    offers.push_back({.kind = OfferKind::LaterDeadline, .deadline = earliest});
  }
  if (const int gpus = fewest_missing(prober, job, speed); gpus > 0) {
    offers.push_back({.kind = OfferKind::MoreGpus, .gpus = gpus});
  }
  Job without_deadline = job;
  without_deadline.job_class = JobClass::BestEffort;
  without_deadline.deadline = kNever;
  if (!refuses(prober.ask(without_deadline), job.id)) {
    offers.push_back({.kind = OfferKind::BestEffort});
  }
  return offers;
}

}  // namespace

Quote Engine::quote(Instant now, const Job& wanted) {
  RUBATO_CHECK(now >= state_->now);
  Job job = wanted;
  job.arrival = now;
  job.speeds = possible_speeds(job);
  if (job.id == JobId{} || state_->jobs.find(job.id) != nullptr) {
    job.id = JobId{~std::uint64_t{0}};
  }
  if (keeps_quote_of(job)) {
    return firm_quote(now, job);
  }
  const AskedPolicy asked{.policy = *policy_, .maker = maker_};
  Prober prober(*state_, asked, now);
  const Decision decision = prober.ask(job);
  prober.begin_search();
  const SpeedId speed = state_->speeds.find(job);
  const Duration alone = quickest_run(*state_, speed, job.work);
  Quote quote{.verdict = verdict_on(decision, job.id),
              .plan = plan_for(decision, job.id),
              .provenance = state_->speeds.provenance(speed)};
  if (policy_->traits().promises && alone < kLongest) {
    quote.earliest = earliest_promise(prober, job, alone);
  }
  if (quote.verdict.kind == VerdictKind::Refuse) {
    quote.plan = {};
    quote.offers = offers_for(prober, job, speed, quote.earliest);
  }
  quote.finish = quote.plan.finish();
  quote.gpu_hours = gpu_hours_of(quote.plan);
  return quote;
}

}  // namespace rubato
