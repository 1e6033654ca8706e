// Checks an engine's books against each other, without knowing how they were kept.
#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "rubato/core/plan_checker.h"
#include "rubato/engine/engine.h"

namespace rubato {
namespace {

using Faults = std::vector<std::string>;

// What a plan still has to come: the past is over.
Plan rest_of(const Plan& plan, Instant now) {
  Plan rest{.pool = plan.pool};
  for (const PlanSegment& segment : plan.segments) {
    if (segment.to > now) {
      rest.segments.push_back(
          {.from = std::max(segment.from, now), .to = segment.to, .workers = segment.workers});
    }
  }
  return rest;
}

// GPUs that are down or belong to two jobs; `taken` has one entry per GPU of each pool.
void claim(const EngineState& state, const JobState& job, std::vector<std::vector<bool>>& taken,
           Faults& faults) {
  for (const GpuRange& range : job.placement.ranges) {
    for (int gpu = range.first; gpu < range.first + range.count; ++gpu) {
      if (taken[job.pool().value][static_cast<std::size_t>(gpu)]) {
        faults.push_back(fmt::format("GPU {} of pool {} belongs to two jobs, {} is one of them",
                                     gpu, job.pool().value, job.id().value));
      }
      taken[job.pool().value][static_cast<std::size_t>(gpu)] = true;
      if (!state.node_up[state.topology.node_of(job.pool(), gpu).id.value]) {
        faults.push_back(fmt::format("job {}: GPU {} of pool {} is down", job.id().value, gpu,
                                     job.pool().value));
      }
    }
  }
}

}  // namespace

std::vector<std::string> Engine::audit() const {
  Faults faults;
  std::vector<Plan> plans;
  std::vector<int> used(state_->capacity.size(), 0);
  std::vector<std::vector<bool>> taken;
  for (const Pool& pool : state_->topology.pools()) {
    taken.emplace_back(static_cast<std::size_t>(pool.gpus), false);
  }
  state_->jobs.for_each([&](const JobState& job) {
    plans.push_back(rest_of(job.plan, state_->now));
    used[job.pool().value] += job.share;
    if (job.share != job.placement.gpus()) {
      faults.push_back(fmt::format("job {}: share and placement differ", job.id().value));
    }
    const Placement* placed = placer_->find(job.id());
    if (job.share > 0 && (placed == nullptr || *placed != job.placement)) {
      faults.push_back(fmt::format("job {}: the placer has it elsewhere", job.id().value));
    }
    claim(*state_, job, taken, faults);
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
