#include "rubato/sim/virtual_training.h"

#include <algorithm>

namespace rubato {
namespace {

constexpr double kNoiseFloor = 0.2;  // However unlucky the draw, a job keeps this much speed.

}  // namespace

VirtualTraining::VirtualTraining(const Topology& topology, std::size_t jobs, double noise,
                                 double straggler_speed, Random random)
    : topology_(topology),
      noise_(noise),
      straggler_speed_(straggler_speed),
      random_(random),
      jobs_(jobs),
      slow_(topology.nodes().size(), false) {}

void VirtualTraining::arrive(const Job& job, SpeedId speed) {
  Training& training = jobs_[job.id.value];
  training.speed = speed;
  training.progress.since = job.arrival;
  if (noise_ > 0) {
    // One stream per job: its luck does not depend on who arrived before it.
    training.noise = std::max(kNoiseFloor, random_.fork(job.id.value).normal(1.0, noise_));
  }
}

double VirtualTraining::true_speed(const Training& training, const SpeedBook& speeds) const {
  double speed =
      training.noise * speeds.speed(training.speed, training.placement.pool, training.share,
                                    topology_.span_of(training.placement));
  if (slow_nodes_ > 0) {
    const bool hit = std::ranges::any_of(topology_.nodes(), [&](const Node& node) {
      return slow_[node.id.value] && touches(training.placement, node);
    });
    speed *= hit ? straggler_speed_ : 1;
  }
  return speed;
}

bool VirtualTraining::touches(const Placement& placement, const Node& node) const {
  return placement.pool == node.pool &&
         std::ranges::any_of(placement.ranges, [&](const GpuRange& range) {
           return range.first < node.first_gpu + node.gpus &&
                  node.first_gpu < range.first + range.count;
         });
}

void VirtualTraining::run(Instant now, const Run& command, const SpeedBook& speeds) {
  Training& training = jobs_[command.job.value];
  running_.insert(command.job);
  training.placement = command.placement;
  training.share = command.placement.gpus();
  training.progress.change(now, true_speed(training, speeds), command.pause);
}

void VirtualTraining::suspend(Instant now, JobId job) {
  Training& training = jobs_[job.value];
  training.progress.change(now, 0, Duration{});
  training.progress.paused_until = now;
  training.placement.ranges.clear();
  training.share = 0;
  running_.erase(job);
}

void VirtualTraining::stall(Instant now, const Stall& command) {
  Progress& progress = jobs_[command.job.value].progress;
  progress.change(now, progress.speed, command.pause);
}

std::vector<JobId> VirtualTraining::on_node(NodeId node) const {
  std::vector<JobId> found;
  for (const JobId id : running_) {
    if (touches(jobs_[id.value].placement, topology_.node(node))) {
      found.push_back(id);
    }
  }
  return found;
}

std::vector<JobId> VirtualTraining::set_slow(Instant now, NodeId node, bool slow,
                                             const SpeedBook& speeds) {
  if (slow_[node.value] == slow) {
    return {};
  }
  slow_[node.value] = slow;
  slow_nodes_ += slow ? 1 : -1;
  std::vector<JobId> changed = on_node(node);
  for (const JobId id : changed) {
    Training& training = jobs_[id.value];
    training.progress.change(now, true_speed(training, speeds), Duration{});
  }
  return changed;
}

}  // namespace rubato
