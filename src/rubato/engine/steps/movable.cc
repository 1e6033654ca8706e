#include "rubato/engine/steps/movable.h"

#include <algorithm>

#include "rubato/engine/steps/charge.h"
#include "rubato/policy/elasticflow/progressive_filling.h"

namespace rubato {
namespace {

// Whether a promised job is done in time though it stands still for a while; with a plan, within
// the workers that the plan has for it.
bool bears(const EngineState& state, const JobState& job, Duration pause) {
  if (job.plan.empty()) {
    return later(job.progress.finish(job.job.work), pause) <= job.promised;
  }
  const policy::elasticflow::FillRequest request{
      .curve = &state.speeds.curve(job.speed, job.plan.pool),
      .speed_factor = job.speed_factor,
      .work = job.work_left(state.now),
      .start = state.now,
      .ready = std::max(state.now, job.progress.paused_until) + pause,
      .share = job.share,
      .job = &job.job,
      .costs = &state.costs};
  return job.plan.finish() <= job.promised && completes(request, job.plan);
}

}  // namespace

std::vector<JobId> movable_jobs(const EngineState& state, PoolId pool) {
  std::vector<JobId> movable;
  state.jobs.for_each([&](const JobState& job) {
    if (job.share > 0 && job.pool() == pool &&
        (job.promised == kNever || bears(state, job, move_pause(state, job)))) {
      movable.push_back(job.id());
    }
  });
  return movable;
}

}  // namespace rubato
