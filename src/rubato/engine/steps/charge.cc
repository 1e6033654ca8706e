#include "rubato/engine/steps/charge.h"

#include <vector>

namespace rubato {
namespace {

// The artifact's price of running on these GPUs this round.
Duration group_pause(EngineState& state, const JobState& job) {
  const bool known = state.memory.use(job.placement);
  return state.costs.artifact(job.share, known, state.memory.restarts());
}

}  // namespace

Duration pause_of(EngineState& state, const JobState& job, const ShareChange& change,
                  ArtifactCharge charge) {
  switch (state.costs.accounting()) {
    case ResizeCostModel::None:
      break;
    case ResizeCostModel::Physical:
      return state.costs.physical(job.job, change);
    case ResizeCostModel::Artifact:
      if (charge == ArtifactCharge::EveryRound ||
          (charge == ArtifactCharge::OnStart && change.from == 0)) {
        return group_pause(state, job);
      }
      break;
  }
  return Duration{};
}

Duration move_pause(const EngineState& state, const JobState& job) {
  switch (state.costs.accounting()) {
    case ResizeCostModel::None:
      break;
    case ResizeCostModel::Physical:
      return state.costs.physical(job.job,
                                  ShareChange{.from = job.share, .to = job.share, .moved = true});
    case ResizeCostModel::Artifact:
      return state.costs.artifact(job.share, /*known_set=*/false, state.memory.restarts());
  }
  return Duration{};
}

void stall_unchanged(EngineState& state, ArtifactCharge charge, const std::set<JobId>& changed,
                     Commands& commands) {
  if (state.costs.accounting() != ResizeCostModel::Artifact ||
      charge != ArtifactCharge::EveryRound) {
    return;
  }
  std::vector<JobId> unchanged;
  state.jobs.for_each([&](const JobState& job) {
    if (job.share > 0 && !changed.contains(job.id())) {
      unchanged.push_back(job.id());
    }
  });
  for (const JobId id : unchanged) {
    JobState& job = state.jobs.at(id);
    const Duration pause = group_pause(state, job);
    job.progress.change(state.now, job.progress.speed, pause);
    commands.emplace_back(Stall{.job = id, .pause = pause});
  }
}

}  // namespace rubato
