#include "rubato/engine/engine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/core/plan_checker.h"
#include "rubato/place/registry/placer_registry.h"
#include "rubato/policy/registry.h"
#include "rubato/policy/tenants/tenant_split.h"

namespace rubato {
namespace {

using policy::tenants::TenantGpus;

// The first multiple of the slot that is not before a moment.
Instant on_grid(Instant moment, Duration slot) {
  if (moment == kNever || slot <= Duration{}) {
    return moment;
  }
  const Duration over = moment.time_since_epoch() % slot;
  return over == Duration{} ? moment : later(moment, slot - over);
}

constexpr Duration kSoon = std::chrono::seconds{1};  // If rounds may follow each other at once.

Result<std::unique_ptr<Placer>> placer_for(const Topology& topology, const EngineOptions& options) {
  std::vector<TenantPart> tenants;
  for (const TenantShare& tenant : options.tenants) {
    tenants.push_back({.name = tenant.name, .share = tenant.share});
  }
  return make_placer(options.placer.empty() ? kPlacerByDefault : std::string_view(options.placer),
                     topology, tenants);
}

std::vector<TenantGpus> tenant_gpus(const std::vector<TenantQuota>& quotas) {
  std::vector<TenantGpus> tenants;
  tenants.reserve(quotas.size());
  for (const TenantQuota& quota : quotas) {
    tenants.push_back({.tenant = quota.tenant, .gpus = quota.gpus});
  }
  return tenants;
}

}  // namespace

Engine::Engine(std::unique_ptr<EngineState> state, PolicyMaker maker, PlacerMaker placer_maker)
    : state_(std::move(state)),
      maker_(std::move(maker)),
      placer_maker_(std::move(placer_maker)),
      policy_(maker_()),
      placer_(placer_maker_(state_->topology).value()) {}

Result<Engine> Engine::make(const Topology& topology, SpeedBook speeds, std::string_view policy,
                            const EngineOptions& options) {
  auto made = make_policy(policy);
  if (!made) {
    return made.error();
  }
  auto placer = placer_for(topology, options);
  if (!placer) {
    return placer.error();
  }
  if (options.firm_quotes > 0 && !(*made)->traits().keeps_quotes) {
    return Error{.code = ErrorCode::BadConfig,
                 .message = fmt::format("policy {} cannot keep quotes; use elasticflow", policy)};
  }
  PolicyMaker maker = [name = std::string(policy)] { return make_policy(name).value(); };
  const auto quotas = (*placer)->quotas();
  const std::vector<TenantGpus> tenants = quotas.empty() ? options.guarantees : tenant_gpus(quotas);
  if (!tenants.empty()) {
    if ((*made)->traits().plans_nodes) {
      return Error{
          .code = ErrorCode::BadConfig,
          .message = fmt::format("policy {} plans node by node and cannot be confined to a "
                                 "tenant's part of the cluster; use the placer buddy{}",
                                 policy, quotas.empty() ? " and guarantee nobody GPUs" : "")};
    }
    maker = [maker, tenants] { return policy::tenants::split_by_tenant(tenants, maker); };
  }
  return with(topology, std::move(speeds), std::move(maker), options);
}

Engine Engine::with(const Topology& topology, SpeedBook speeds, PolicyMaker maker,
                    const EngineOptions& options) {
  return Engine(std::make_unique<EngineState>(topology, std::move(speeds), options),
                std::move(maker),
                [options](const Topology& machines) { return placer_for(machines, options); });
}

Commands Engine::on(Instant now, const Event& event) {
  const auto* arrival = std::get_if<Arrival>(&event);
  return arrival != nullptr && keeps_quote_of(arrival->job) ? arrive_firmly(now, *arrival)
                                                            : handle(now, event);
}

// `quote`: of the job that arrives, if one does.
Commands Engine::handle(Instant now, const Event& event, const FirmQuote& quote) {
  RUBATO_CHECK(now >= state_->now);
  state_->now = now;
  Commands commands;
  if (!absorb(*state_, *placer_, event, commands)) {
    return commands;
  }
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    state_->jobs.at(arrival->job.id).quote = quote;
  }
  if (policy_->traits().adapts_batch) {
    adapt(*state_, event, commands);
  }
  decide(event, commands);
  tell_unserved(commands);
  return commands;
}

void Engine::decide(const Event& event, Commands& commands) {
  const Decision decision = policy_->on(event, view_of(*state_));
  const auto faults = check_decision(decision, state_->now, state_->jobs,
                                     PoolUse{.capacity = state_->capacity, .used = state_->used});
  for (const std::string& fault : faults) {
    commands.emplace_back(Alarm{.fault = fault});
  }
  if (faults.empty()) {
    carry_out(decision, commands);
  }
}

// The policy learns that jobs have fewer workers than it decided, as if they had lost them. What it
// decides then may again not be served; it learns that after the next event, which is sure to come.
void Engine::tell_unserved(Commands& commands) {
  for (const JobId id : std::exchange(state_->unserved, {})) {
    if (const JobState* job = state_->jobs.find(id)) {
      decide(
          ProgressReport{.job = id, .done = job->progress.at(state_->now), .workers = job->share},
          commands);
    }
  }
  if (!state_->unserved.empty() && state_->wake == kNever) {
    state_->wake = later(state_->now, std::max(state_->slot, kSoon));
    commands.emplace_back(Wake{.at = state_->wake});
  }
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
