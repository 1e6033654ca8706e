#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/engine/state/state.h"

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

// How many samples workers may take at a time in each pool: what was measured there.
std::vector<BatchLimits> local_limits(const EngineState& state, const JobState& job) {
  std::vector<BatchLimits> limits;
  for (const Pool& pool : state.topology.pools()) {
    const ApplicationProfile* profile = state.speeds.profile(job.speed, pool.id);
    limits.push_back(profile == nullptr ? job.job.batches : profile->limits());
  }
  return limits;
}

/// Takes in one event; each call answers whether it was news.
struct Absorber {
  EngineState& state;
  Placer& placer;
  Commands& commands;

  bool operator()(const Completion& completion) const {
    JobState* job = state.jobs.find(completion.job);
    if (job == nullptr) {
      return false;  // Cancelled twice, or cancelled while it finished.
    }
    if (job->share > 0) {
      state.used[job->pool().value] -= job->share;
      placer.release(job->id());
    }
    state.jobs.erase(completion.job);
    state.goodputs.leave(completion.job);
    return true;
  }

  bool operator()(const NodeChange& change) const {
    if (change.node.value >= state.node_up.size()) {
      commands.emplace_back(Alarm{fmt::format("node {} is unknown", change.node.value)});
      return false;
    }
    if (state.node_up[change.node.value] == change.up) {
      return false;
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
    return true;
  }

  // A report corrects what we believed; a job that lost a worker starts anew from what it has done.
  bool operator()(const ProgressReport& report) const {
    JobState* job = state.jobs.find(report.job);
    if (job == nullptr || job->share == 0 || !std::isfinite(report.done)) {
      return false;  // It finished or was stopped while the report was under way, or is nonsense.
    }
    job->progress.advance(state.now);
    job->progress.done = std::max(0.0, report.done);
    if (report.step) {
      state.goodputs.observe(job->job, job->pool(), *report.step);
    }
    if (report.workers < job->share) {
      suspend(state, placer, *job, commands);
    } else if (report.workers == job->share && report.speed > 0 && std::isfinite(report.speed)) {
      take_speed(*job, report.speed);
    }  // With more workers than it has, it speaks of the time before it shrank.
    return true;
  }

  bool operator()(const OfferReply& reply) const { return state.jobs.find(reply.job) != nullptr; }

  bool operator()(const Arrival& arrival) const {
    if (state.jobs.find(arrival.job.id) != nullptr) {
      commands.emplace_back(Alarm{fmt::format("job {} arrived twice", arrival.job.id.value)});
      return false;
    }
    JobState& job = state.jobs.insert(arrival.job);
    job.job.speeds = possible_speeds(arrival.job);
    if (job.job.speeds != arrival.job.speeds) {
      commands.emplace_back(Alarm{fmt::format(
          "job {} states speeds that cannot be; they are not used", arrival.job.id.value)});
    }
    job.speed = state.speeds.resolve(job.job);
    job.reason = Reason::WaitingForGpus;
    state.goodputs.arrive(job.job, local_limits(state, job));
    return true;
  }

  bool operator()(const Tick& /*tick*/) const {
    if (state.wake <= state.now) {
      state.wake = kNever;  // Used up, whatever is decided now.
    }
    return true;
  }

 private:
  void take_speed(JobState& job, double speed) const {
    const double known = state.speeds.speed(job.speed, job.placement);
    job.speed_factor = known > 0 ? speed / known : 1;
    job.progress.speed = speed;
  }
};

}  // namespace

std::vector<ScalingPoint> possible_speeds(const Job& job) {
  int workers = 0;
  for (const ScalingPoint& point : job.speeds) {
    if (point.workers <= workers || !std::isfinite(point.speed) || point.speed <= 0) {
      return {};
    }
    workers = point.workers;
  }
  return job.speeds;
}

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

bool absorb(EngineState& state, Placer& placer, const Event& event, Commands& commands) {
  return std::visit(Absorber{.state = state, .placer = placer, .commands = commands}, event);
}

}  // namespace rubato
