#include <algorithm>
#include <type_traits>
#include <variant>

#include "rubato/base/check.h"
#include "rubato/engine/state.h"

namespace rubato {
namespace {

// The jobs with at least one GPU on a node, in id order.
std::vector<JobId> jobs_on(const EngineState& state, const Node& node) {
  std::vector<JobId> hit;
  state.jobs.for_each([&](const JobState& job) {
    const bool touches = job.pool() == node.pool &&
                         std::ranges::any_of(job.placement.ranges, [&](const GpuRange& range) {
                           return range.first < node.first_gpu + node.gpus &&
                                  node.first_gpu < range.first + range.count;
                         });
    if (job.share > 0 && touches) {
      hit.push_back(job.id());
    }
  });
  return hit;
}

void absorb_node(EngineState& state, Placer& placer, const NodeChange& change, Commands& commands) {
  if (state.node_up[change.node.value] == change.up) {
    return;
  }
  const Node& node = state.topology.node(change.node);
  if (!change.up) {
    for (const JobId id : jobs_on(state, node)) {
      JobState& job = state.jobs.at(id);
      suspend(state, placer, job, commands);
      job.reason = Reason::NodesDown;
    }
  }
  state.node_up[change.node.value] = change.up;
  state.capacity[node.pool.value] += change.up ? node.gpus : -node.gpus;
  placer.set_node(change.node, change.up);
}

// A report corrects what we believed; a job that lost a worker starts anew from what it has done.
void absorb_report(EngineState& state, Placer& placer, const Measured& report, Commands& commands) {
  JobState* job = state.jobs.find(report.job);
  if (job == nullptr || job->share == 0) {
    return;  // It finished or was stopped while the report was under way.
  }
  job->progress.advance(state.now);
  job->progress.done = report.done;
  if (report.workers < job->share) {
    suspend(state, placer, *job, commands);
    return;
  }
  if (report.speed > 0) {
    const double known = state.speeds.speed(job->speed, job->pool(), job->share,
                                            state.topology.span_of(job->placement));
    job->speed_factor = known > 0 ? report.speed / known : 1;
    job->progress.speed = report.speed;
  }
}

void absorb_completion(EngineState& state, Placer& placer, const Completion& completion) {
  JobState* job = state.jobs.find(completion.job);
  if (job == nullptr) {
    return;  // Cancelled twice, or cancelled while it finished.
  }
  if (job->share > 0) {
    state.used[job->pool().value] -= job->share;
    placer.release(job->id());
  }
  state.jobs.erase(completion.job);
}

}  // namespace

void suspend(EngineState& state, Placer& placer, JobState& job, Commands& commands) {
  RUBATO_CHECK(job.share > 0);
  state.used[job.pool().value] -= job.share;
  placer.release(job.id());
  job.usage.advance(state.now, job.share);
  job.progress.change(state.now, 0, Duration{});
  job.progress.paused_until = state.now;
  job.share = 0;
  job.placement.ranges.clear();
  job.reason = Reason::WaitingForGpus;
  commands.emplace_back(Suspend{.job = job.id()});
}

void absorb(EngineState& state, Placer& placer, const Event& event, Commands& commands) {
  std::visit(
      [&](const auto& each) {
        using Kind = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<Kind, Arrival>) {
          JobState& job = state.jobs.insert(each.job);
          job.speed = state.speeds.resolve(job.job);
          job.reason = Reason::WaitingForGpus;
        } else if constexpr (std::is_same_v<Kind, Completion>) {
          absorb_completion(state, placer, each);
        } else if constexpr (std::is_same_v<Kind, NodeChange>) {
          absorb_node(state, placer, each, commands);
        } else if constexpr (std::is_same_v<Kind, Measured>) {
          absorb_report(state, placer, each, commands);
        }
      },
      event);
}

}  // namespace rubato
