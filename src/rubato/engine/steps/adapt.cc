// Batch sizes follow what jobs report about their steps and gradients.
#include <variant>

#include "rubato/engine/state/state.h"

namespace rubato {

BatchSplit best_split(const EngineState& state, const JobState& job) {
  const JobGoodput* goodput = state.goodputs.find(job.id());
  if (goodput == nullptr || job.share == 0) {
    return {};
  }
  const auto nodes = static_cast<int>(state.topology.nodes_of(job.placement).size());
  return goodput->split(job.pool(), nodes, job.share);
}

void adapt(EngineState& state, const Event& event, Commands& commands) {
  const auto* report = std::get_if<ProgressReport>(&event);
  JobState* job = report != nullptr ? state.jobs.find(report->job) : nullptr;
  if (job == nullptr || !report->step || job->share == 0) {
    return;
  }
  const BatchSplit split = best_split(state, *job);
  if (split != job->split) {
    job->split = split;
    commands.emplace_back(Rebatch{.job = job->id(), .split = split});
  }
}

}  // namespace rubato
