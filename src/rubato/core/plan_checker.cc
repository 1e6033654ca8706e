#include "rubato/core/plan_checker.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

namespace rubato {
namespace {

using Faults = std::vector<std::string>;

// Jobs named more than once, whatever they are named for.
void check_unique(std::vector<JobId> named, std::string_view what, Faults& faults) {
  std::ranges::sort(named);
  const auto twice = std::ranges::adjacent_find(named);
  if (twice != named.end()) {
    faults.push_back(fmt::format("job {} has two {}", twice->value, what));
  }
}

bool admits(const Decision& decision, JobId job) {
  return std::ranges::any_of(decision.verdicts, [job](const Verdict& verdict) {
    return verdict.job == job &&
           (verdict.kind == VerdictKind::Admit || verdict.kind == VerdictKind::Demote);
  });
}

void check_targets(const Decision& decision, const JobTable& jobs, const PoolUse& pools,
                   Faults& faults) {
  std::vector<int> used(pools.used.begin(), pools.used.end());
  if (!decision.keep_others) {
    std::ranges::fill(used, 0);
  }
  std::vector<JobId> named;
  for (const Target& target : decision.targets) {
    const JobState* job = jobs.find(target.job);
    named.push_back(target.job);
    if (job == nullptr) {
      faults.push_back(fmt::format("target for unknown job {}", target.job.value));
      continue;
    }
    if (target.workers < 0 || target.pool.value >= used.size()) {
      faults.push_back(fmt::format("job {}: {} workers in pool {}", target.job.value,
                                   target.workers, target.pool.value));
      continue;
    }
    int wished = 0;
    for (const NodeShare& share : target.nodes) {
      wished += share.workers;
    }
    if (!target.nodes.empty() && wished != target.workers) {
      faults.push_back(fmt::format("job {}: {} workers, but its nodes are to hold {}",
                                   target.job.value, target.workers, wished));
    }
    if (target.workers > 0 && !job->admitted && !admits(decision, target.job)) {
      faults.push_back(fmt::format("job {} would run without a verdict", target.job.value));
    }
    if (decision.keep_others && job->share > 0) {
      used[job->pool().value] -= job->share;
    }
    used[target.pool.value] += target.workers;
  }
  check_unique(std::move(named), "targets", faults);
  for (std::size_t pool = 0; pool < used.size(); ++pool) {
    if (used[pool] > pools.capacity[pool]) {
      faults.push_back(fmt::format("pool {}: {} GPUs handed out, {} are up", pool, used[pool],
                                   pools.capacity[pool]));
    }
  }
}

void check_plan(const JobPlan& plan, Instant now, const JobTable& jobs, std::size_t pools,
                Faults& faults) {
  const JobState* job = jobs.find(plan.job);
  if (job == nullptr || plan.plan.pool.value >= pools) {
    faults.push_back(
        fmt::format("plan for unknown job {} or pool {}", plan.job.value, plan.plan.pool.value));
    return;
  }
  Instant end = Instant::min();
  for (const PlanSegment& segment : plan.plan.segments) {
    if (segment.from < end || segment.to <= segment.from || segment.workers <= 0) {
      faults.push_back(fmt::format("job {}: its plan is disordered", plan.job.value));
      return;
    }
    end = segment.to;
  }
  if (!plan.plan.empty() && end < now) {
    faults.push_back(fmt::format("job {}: its plan lies in the past", plan.job.value));
  }
}

}  // namespace

std::vector<std::string> check_decision(const Decision& decision, Instant now, const JobTable& jobs,
                                        const PoolUse& pools) {
  Faults faults;
  std::vector<JobId> named;
  for (const Verdict& verdict : decision.verdicts) {
    named.push_back(verdict.job);
    const JobState* job = jobs.find(verdict.job);
    if (job == nullptr) {
      faults.push_back(fmt::format("verdict on unknown job {}", verdict.job.value));
    } else if (verdict.kind == VerdictKind::Refuse && job->admitted) {
      faults.push_back(
          fmt::format("job {} was admitted and cannot be refused now", verdict.job.value));
    }
  }
  check_unique(std::move(named), "verdicts", faults);
  if (decision.is_round) {
    check_targets(decision, jobs, pools, faults);
  }
  for (const JobPlan& plan : decision.plans) {
    check_plan(plan, now, jobs, pools.capacity.size(), faults);
  }
  return faults;
}

std::vector<std::string> check_capacity(std::span<const Plan> plans,
                                        std::span<const int> capacity) {
  std::vector<std::map<Instant, int>> changes(capacity.size());
  for (const Plan& plan : plans) {
    for (const PlanSegment& segment : plan.segments) {
      changes[plan.pool.value][segment.from] += segment.workers;
      changes[plan.pool.value][segment.to] -= segment.workers;
    }
  }
  Faults faults;
  for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
    int used = 0;
    for (const auto& [at, change] : changes[pool]) {
      used += change;
      if (used > capacity[pool]) {
        faults.push_back(fmt::format("pool {}: {} GPUs planned at {} s, {} are up", pool, used,
                                     to_seconds(at), capacity[pool]));
      }
    }
  }
  return faults;
}

}  // namespace rubato
