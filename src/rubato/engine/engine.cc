#include "rubato/engine/engine.h"

#include <utility>
#include <variant>

#include "rubato/base/check.h"
#include "rubato/core/plan_checker.h"
#include "rubato/place/buddy_placer.h"
#include "rubato/policy/registry.h"

namespace rubato {

std::string_view to_string(OfferKind kind) {
  switch (kind) {
    case OfferKind::LaterDeadline:
      return "later_deadline";
    case OfferKind::MoreGpus:
      return "more_gpus";
    case OfferKind::BestEffort:
      return "best_effort";
  }
  return "?";
}

Engine::Engine(std::unique_ptr<EngineState> state, std::string policy_name,
               std::unique_ptr<Policy> policy, std::unique_ptr<Placer> placer)
    : state_(std::move(state)),
      policy_name_(std::move(policy_name)),
      policy_(std::move(policy)),
      placer_(std::move(placer)) {}

Result<Engine> Engine::make(const Topology& topology, SpeedBook speeds, std::string_view policy,
                            const EngineOptions& options) {
  auto made = make_policy(policy);
  if (!made) {
    return made.error();
  }
  return Engine(std::make_unique<EngineState>(topology, std::move(speeds), options),
                std::string(policy), *std::move(made), std::make_unique<BuddyPlacer>(topology));
}

Commands Engine::on(Instant now, const Event& event) {
  RUBATO_CHECK(now >= state_->now);
  state_->now = now;
  Commands commands;
  absorb(*state_, *placer_, event, commands);

  const Decision decision = policy_->on(event, view_of(*state_));
  const auto faults = check_decision(decision, now, state_->jobs,
                                     PoolUse{.capacity = state_->capacity, .used = state_->used});
  if (!faults.empty()) {
    for (const std::string& fault : faults) {
      commands.emplace_back(Alarm{.fault = fault});
    }
    return commands;
  }

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
    allocate(*state_, *placer_, decision, policy_->traits().artifact_charge, commands);
  }
  if (decision.wake_at != state_->wake || std::holds_alternative<Tick>(event)) {
    state_->wake = decision.wake_at;
    commands.emplace_back(Wake{.at = decision.wake_at});
  }
  return commands;
}

Result<Explanation> Engine::why(Instant now, JobId job) const {
  if (const JobState* active = state_->jobs.find(job)) {
    return explain_active(*state_, *active, now);
  }
  if (const Verdict* verdict = refusals_.find(job)) {
    return explain_refusal(*state_, *refusals_.job(job), *verdict);
  }
  return Error{.code = ErrorCode::NotFound,
               .message = "job " + std::to_string(job.value) +
                          " is neither active nor among the last refusals"};
}

std::vector<std::string> Engine::audit() const {
  std::vector<Plan> plans;
  std::vector<int> used(state_->capacity.size(), 0);
  std::vector<std::string> faults;
  state_->jobs.for_each([&](const JobState& job) {
    plans.push_back(job.plan);
    if (job.share > 0) {
      used[job.pool().value] += job.share;
    }
    if (job.share != job.placement.gpus()) {
      faults.push_back("job " + std::to_string(job.id().value) + ": share and placement differ");
    }
  });
  if (used != state_->used) {
    faults.emplace_back("GPUs in use are miscounted");
  }
  for (std::string& fault : check_capacity(plans, state_->capacity)) {
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace rubato
