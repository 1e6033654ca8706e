#include "rubato/policy/edf/edf_ac.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/policy/edf/forward_plan.h"
#include "rubato/policy/edf/promised_plans.h"
#include "rubato/policy/edf/urgency.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::edf {
namespace {

class EdfAc final : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = true, .promises = true, .artifact_charge = ArtifactCharge::EveryRound};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  void rebuild(const View& view);
  [[nodiscard]] Instant next_round(const View& view) const;
  [[nodiscard]] Instant next_round_beside_plans(const View& view) const;
  [[nodiscard]] Verdict judge(const JobState& job, const View& view, Decision& decision);
  [[nodiscard]] bool admit(const JobState& job, const View& view, Decision& decision);
  void commit(Promises promises, Instant from, Decision& decision);
  void release(JobId id, const View& view, Decision& decision);
  void replan_or_rescue(Instant from, const View& view, Decision& decision);
  void remove(JobId job, const View& view, Decision& decision);
  void after_node_change(const View& view, Decision& decision);
  void after_measurement(const JobState& job, const View& view, Decision& decision);
  void hold_round(const View& view, Decision& decision);
  void share_rest(std::vector<int> free, const std::vector<JobId>& late, const View& view,
                  Decision& decision) const;
  [[nodiscard]] Instant next_boundary(const View& view) const;

  Promises promises_;
  Instant anchor_{};             // All plans change at multiples of the grid after this.
  Instant handled_ = kNever;     // The last tick; plans up to it are carried out.
  Instant last_round_ = kNever;  // The last tick at which workers changed.
  std::set<Urgency> others_;     // Jobs without a promise: a cache.
  std::map<JobId, Urgency> places_;
  bool is_stale_ = true;
};

void EdfAc::rebuild(const View& view) {
  others_.clear();
  places_.clear();
  view.jobs.for_each([&](const JobState& job) {
    if (job.admitted && !promises_.contains(job.id())) {
      others_.insert(urgency_of(job));
      places_[job.id()] = urgency_of(job);
    }
  });
  is_stale_ = false;
}

// The next moment at which a round can be held, whatever is planned.
Instant EdfAc::next_round(const View& view) const {
  const Instant from = handled_ == view.now ? view.now + Duration{1} : view.now;
  return last_round_ == kNever ? from : std::max(from, later(last_round_, round_grid(view)));
}

// The same beside the present plans, whose rounds it must not come too close to.
Instant EdfAc::next_round_beside_plans(const View& view) const {
  const Instant from = next_round(view);
  return promises_.empty() ? from : next_on_grid(from, anchor_, round_grid(view));
}

void EdfAc::commit(Promises promises, Instant from, Decision& decision) {
  anchor_ = from;
  for (const auto& [id, promise] : promises) {
    const auto old = promises_.find(id);
    if (old == promises_.end() || old->second.plan != promise.plan) {
      decision.plans.push_back(JobPlan{.job = id, .plan = promise.plan});
    }
  }
  promises_ = std::move(promises);
}

// A job that no plan can save goes on without its promise, on what the others leave.
void EdfAc::release(JobId id, const View& view, Decision& decision) {
  promises_.erase(id);
  others_.insert(urgency_of(view.jobs.at(id)));
  places_[id] = urgency_of(view.jobs.at(id));
  decision.plans.push_back(JobPlan{.job = id, .plan = Plan{}});
}

void EdfAc::replan_or_rescue(Instant from, const View& view, Decision& decision) {
  auto planned = plan_all(promises_, from, nullptr, view);
  commit(planned ? std::move(*planned) : rescue(promises_, from, view), from, decision);
  std::vector<JobId> lost;
  for (const auto& [id, promise] : promises_) {
    if (promise.is_late) {
      lost.push_back(id);
    }
  }
  for (const JobId id : lost) {
    release(id, view, decision);
  }
}

bool EdfAc::admit(const JobState& job, const View& view, Decision& decision) {
  if (auto planned = plan_all(promises_, next_round(view), &job, view)) {
    commit(std::move(*planned), next_round(view), decision);
    return true;
  }
  const Instant from = next_round_beside_plans(view);
  const auto ledgers = free_beside(promises_, from, view);
  auto plan = ledgers ? earliest_plan(job, *ledgers, from, planned_deadline(job, view), view)
                      : std::nullopt;
  if (!plan) {
    return false;
  }
  decision.plans.push_back(JobPlan{.job = job.id(), .plan = plan->plan});
  promises_[job.id()] = Promise{.plan = std::move(plan->plan), .speed_factor = job.speed_factor};
  return true;
}

Verdict EdfAc::judge(const JobState& job, const View& view, Decision& decision) {
  Verdict verdict{.job = job.id(), .reason = rounds::why_unrunnable(job, view)};
  const bool wants_promise = job.job_class == JobClass::Slo && job.job.has_deadline();
  if (verdict.reason != Reason::None) {
    verdict.kind = VerdictKind::Refuse;
  } else if (!wants_promise) {
    others_.insert(urgency_of(job));
    places_[job.id()] = urgency_of(job);
  } else if (admit(job, view, decision)) {
    verdict.promised = job.job.deadline;
  } else {
    const Instant from = next_round(view);
    const bool alone = fits_alone(job, from, view);
    verdict.kind = VerdictKind::Refuse;
    verdict.reason = alone                      ? Reason::PromisesInTheWay
                     : job.job.deadline <= from ? Reason::DeadlinePassed
                                                : Reason::DeadlineTooSoon;
  }
  return verdict;
}

// A job that ends early leaves a gap that may be worth new plans.
void EdfAc::remove(JobId job, const View& view, Decision& decision) {
  const auto place = places_.find(job);
  if (place != places_.end()) {
    others_.erase(place->second);
    places_.erase(place);
  }
  const auto found = promises_.find(job);
  if (found == promises_.end()) {
    return;
  }
  const Instant from = next_round(view);
  const bool is_early = !found->second.plan.empty() && found->second.plan.finish() > from;
  promises_.erase(found);
  if (is_early) {
    if (auto planned = plan_all(promises_, from, nullptr, view)) {
      commit(std::move(*planned), from, decision);
    }
  }
}

void EdfAc::after_node_change(const View& view, Decision& decision) {
  const Instant from = next_round(view);
  bool was_hit = !free_beside(promises_, from, view).has_value();
  for (const auto& [id, promise] : promises_) {
    const JobState& job = view.jobs.at(id);
    was_hit = was_hit || promise.is_late || (job.share == 0 && promise.plan.at(view.now) > 0);
  }
  if (was_hit) {
    replan_or_rescue(from, view, decision);
  }
}

void EdfAc::after_measurement(const JobState& job, const View& view, Decision& decision) {
  const auto found = promises_.find(job.id());
  const bool lost_workers = job.share == 0;
  if (found != promises_.end() && (lost_workers || job.speed_factor < found->second.speed_factor)) {
    replan_or_rescue(next_round(view), view, decision);
  }
}

// Late jobs, then those without a promise, take what the plans leave free now.
void EdfAc::share_rest(std::vector<int> free, const std::vector<JobId>& late, const View& view,
                       Decision& decision) const {
  std::vector<JobId> takers = late;
  for (const Urgency& urgency : others_) {
    takers.push_back(std::get<JobId>(urgency));
  }
  for (const JobId taker : takers) {
    const JobState& job = view.jobs.at(taker);
    Target target{.job = job.id(), .pool = job.pool()};
    double fastest = 0;
    for (const Pool& pool : view.topology.pools()) {
      const ScalingPoint point = view.curve(job, pool.id).best_within(free[pool.id.value]);
      if (point.speed > fastest) {
        fastest = point.speed;
        target.pool = pool.id;
        target.workers = point.workers;
      }
    }
    if (target.workers > 0) {
      free[target.pool.value] -= target.workers;
    }
    if (target.workers != job.share || (job.share > 0 && target.pool != job.pool())) {
      decision.targets.push_back(target);
    }
  }
}

void EdfAc::hold_round(const View& view, Decision& decision) {
  handled_ = view.now;
  std::vector<JobId> overrun;  // Their plan is over, but they are not: they were slower than known.
  for (const auto& [id, promise] : promises_) {
    if (promise.plan.empty() || promise.plan.finish() <= view.now) {
      overrun.push_back(id);
    }
  }
  for (const JobId id : overrun) {
    release(id, view, decision);
  }
  std::vector<int> free(view.capacity.begin(), view.capacity.end());
  std::vector<JobId> late;
  for (const auto& [id, promise] : promises_) {
    const JobState& job = view.jobs.at(id);
    int& left = free[promise.plan.pool.value];
    // Plans fit together unless a job runs on after the end it was believed to reach.
    const int planned = promise.plan.at(view.now);
    const int workers =
        planned <= left ? planned : view.curve(job, promise.plan.pool).best_within(left).workers;
    left -= workers;
    if (workers == 0 && planned > 0) {
      late.push_back(id);
      continue;
    }
    if (workers != job.share) {
      decision.targets.push_back(Target{.job = id, .pool = promise.plan.pool, .workers = workers});
    }
  }
  share_rest(std::move(free), late, view, decision);
  decision.is_round = !decision.targets.empty();
  last_round_ = decision.is_round ? view.now : last_round_;
}

// The first moment not yet handled at which a plan changes.
Instant EdfAc::next_boundary(const View& view) const {
  Instant next = kNever;
  const auto consider = [&](Instant at) {
    if (handled_ == kNever || at > handled_) {
      next = std::min(next, std::max(at, view.now));
      return true;
    }
    return false;
  };
  for (const auto& [id, promise] : promises_) {
    for (const PlanSegment& segment : promise.plan.segments) {
      if (consider(segment.from) || consider(segment.to)) {
        break;
      }
    }
  }
  return next;
}

Decision EdfAc::on(const Event& event, const View& view) {
  if (is_stale_) {
    rebuild(view);
  }
  Decision decision;
  const bool is_tick = std::holds_alternative<Tick>(event);
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view, decision));
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    remove(completion->job, view, decision);
  } else if (std::holds_alternative<NodeChange>(event)) {
    after_node_change(view, decision);
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    if (const JobState* job = view.jobs.find(report->job)) {
      after_measurement(*job, view, decision);
    }
  } else if (is_tick) {
    hold_round(view, decision);
  }
  decision.wake_at = next_boundary(view);
  if (!is_tick && !others_.empty()) {
    decision.wake_at = std::min(decision.wake_at, next_round_beside_plans(view));
  }
  return decision;
}

std::string EdfAc::save() const {
  std::string state;
  append_line(state, "times",
              {anchor_.time_since_epoch().count(), handled_.time_since_epoch().count(),
               last_round_.time_since_epoch().count()});
  for (const auto& [id, promise] : promises_) {
    const auto job = static_cast<std::int64_t>(id.value);
    append_line(state, "promise",
                {job, static_cast<std::int64_t>(promise.plan.pool.value),
                 std::bit_cast<std::int64_t>(promise.speed_factor), promise.is_late ? 1 : 0});
    for (const PlanSegment& segment : promise.plan.segments) {
      append_line(state, "segment",
                  {job, segment.from.time_since_epoch().count(),
                   segment.to.time_since_epoch().count(), segment.workers});
    }
  }
  return state;
}

Status EdfAc::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  promises_.clear();
  anchor_ = Instant{};
  handled_ = kNever;
  last_round_ = kNever;
  is_stale_ = true;
  for (const SavedLine& line : *lines) {
    const std::vector<std::int64_t>& numbers = line.numbers;
    if (line.word == "times" && numbers.size() == 3) {
      anchor_ = Instant{Duration{numbers[0]}};
      handled_ = Instant{Duration{numbers[1]}};
      last_round_ = Instant{Duration{numbers[2]}};
    } else if (line.word == "promise" && numbers.size() == 4) {
      Promise& promise = promises_[JobId{static_cast<std::uint64_t>(numbers[0])}];
      promise.plan.pool = PoolId{static_cast<std::uint64_t>(numbers[1])};
      promise.speed_factor = std::bit_cast<double>(numbers[2]);
      promise.is_late = numbers[3] != 0;
    } else if (line.word == "segment" && numbers.size() == 4) {
      promises_[JobId{static_cast<std::uint64_t>(numbers[0])}].plan.segments.push_back(
          PlanSegment{.from = Instant{Duration{numbers[1]}},
                      .to = Instant{Duration{numbers[2]}},
                      .workers = static_cast<int>(numbers[3])});
    } else {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<Policy>> make_edf_ac(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<EdfAc>());
}

PolicyInfo edf_ac_policy() {
  return {.name = "edf-ac",
          .paper = "ElasticFlow, ASPLOS'23, section 6.4 (baseline)",
          .fidelity = "capped at the speed peak; pauses planned, promises kept",
          .objective = "deadlines met, earliest first",
          .needs = "speed curve, deadline",
          .use_when = "as a baseline with promises",
          .make = make_edf_ac};
}

}  // namespace rubato::policy::edf
