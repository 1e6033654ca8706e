#include "rubato/engine/engine.h"

#include <utility>

#include "rubato/base/check.h"
#include "rubato/core/plan_checker.h"
#include "rubato/place/buddy_placer.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

// The first multiple of the slot that is not before a moment.
Instant on_grid(Instant moment, Duration slot) {
  if (moment == kNever || slot <= Duration{}) {
    return moment;
  }
  const Duration over = moment.time_since_epoch() % slot;
  return over == Duration{} ? moment : later(moment, slot - over);
}

}  // namespace

Engine::Engine(std::unique_ptr<EngineState> state, PolicyMaker maker,
               std::unique_ptr<Placer> placer)
    : state_(std::move(state)),
      maker_(std::move(maker)),
      policy_(maker_()),
      placer_(std::move(placer)) {}

Result<Engine> Engine::make(const Topology& topology, SpeedBook speeds, std::string_view policy,
                            const EngineOptions& options) {
  if (auto made = make_policy(policy); !made) {
    return made.error();
  }
  return with(
      topology, std::move(speeds),
      [name = std::string(policy)] { return make_policy(name).value(); }, options);
}

Engine Engine::with(const Topology& topology, SpeedBook speeds, PolicyMaker maker,
                    const EngineOptions& options) {
  return Engine(std::make_unique<EngineState>(topology, std::move(speeds), options),
                std::move(maker), std::make_unique<BuddyPlacer>(topology));
}

Commands Engine::on(Instant now, const Event& event) {
  RUBATO_CHECK(now >= state_->now);
  state_->now = now;
  Commands commands;
  if (!absorb(*state_, *placer_, event, commands)) {
    return commands;
  }
  if (policy_->traits().adapts_batch) {
    adapt(*state_, event, commands);
  }
  const Decision decision = policy_->on(event, view_of(*state_));
  const auto faults = check_decision(decision, now, state_->jobs,
                                     PoolUse{.capacity = state_->capacity, .used = state_->used});
  for (const std::string& fault : faults) {
    commands.emplace_back(Alarm{.fault = fault});
  }
  if (faults.empty()) {
    carry_out(decision, commands);
  }
  return commands;
}

void Engine::carry_out(const Decision& decision, Commands& commands) {
  for (const Verdict& verdict : decision.verdicts) {
    if (verdict.kind == VerdictKind::Refuse) {
      refusals_.add(state_->jobs.at(verdict.job).job, verdict);
    }
  }
  for (const JobPlan& plan : decision.plans) {
    state_->jobs.at(plan.job).plan = plan.plan;
  }
  admit(*state_, decision.verdicts, commands);
  if (decision.is_round) {
    allocate(*state_, *placer_, decision, policy_->traits(), commands);
  }
  const Instant wake = policy_->traits().promises || !state_->grid
                           ? decision.wake_at
                           : on_grid(decision.wake_at, state_->slot);
  if (wake != state_->wake) {
    state_->wake = wake;
    commands.emplace_back(Wake{.at = wake});
  }
}

Result<Explanation> Engine::why(Instant now, JobId job) const {
  if (const JobState* active = state_->jobs.find(job)) {
    return explain_active(*state_, *active, now);
  }
  if (const Refusals::Entry* refused = refusals_.find(job)) {
    return explain_refusal(*state_, *refused);
  }
  return Error{.code = ErrorCode::NotFound,
               .message = "job " + std::to_string(job.value) +
                          " is neither active nor among the last refusals"};
}

}  // namespace rubato
