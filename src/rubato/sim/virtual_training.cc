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
  training.batch = job.batch;
  training.work = job.work;
  training.progress.since = job.arrival;
  if (noise_ > 0) {
    // One stream per job: its luck does not depend on who arrived before it.
    training.noise = std::max(kNoiseFloor, random_.fork(job.id.value).normal(1.0, noise_));
  }
}

NodePattern VirtualTraining::pattern(const Placement& placement) const {
  NodePattern nodes;
  for (const NodeShare& share : topology_.nodes_of(placement)) {
    nodes.push_back(share.workers);
  }
  return nodes;
}

// Steps of the job's own batch per second: a step with another one is worth more or fewer of them.
double VirtualTraining::profiled_speed(const Training& training,
                                       const ApplicationProfile& profile) const {
  const BatchSplit split =
      training.split.is_own() ? profile.split(training.batch, training.share) : training.split;
  const double worth = profile.gain(split.batch(training.share), training.epoch) /
                       profile.gain(training.batch, training.epoch);
  return worth / profile.step_seconds(pattern(training.placement), split);
}

double VirtualTraining::true_speed(const Training& training, const SpeedBook& speeds) const {
  const ApplicationProfile* profile = speeds.profile(training.speed, training.placement.pool);
  const bool has_epochs = profile != nullptr && profile->epochs() > 0;
  double speed = training.noise * (has_epochs ? profiled_speed(training, *profile)
                                              : speeds.speed(training.speed, training.placement));
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
  training.split = command.split;
  training.progress.change(now, true_speed(training, speeds), command.pause);
}

void VirtualTraining::rebatch(Instant now, const Rebatch& command, const SpeedBook& speeds) {
  Training& training = jobs_[command.job.value];
  training.split = command.split;
  training.progress.change(now, true_speed(training, speeds), Duration{});
}

VirtualTraining::Milestone VirtualTraining::next(JobId job, const SpeedBook& speeds) const {
  const Training& training = jobs_[job.value];
  const ApplicationProfile* profile =
      training.share > 0 ? speeds.profile(training.speed, training.placement.pool) : nullptr;
  if (profile == nullptr || profile->epochs() == 0) {
    return {.at = training.progress.finish(training.work)};
  }
  const bool is_last = training.epoch + 1 >= profile->epochs();
  const double end =
      is_last ? training.work
              : std::min(training.work, profile->steps(training.batch, training.epoch + 1));
  const Instant at = training.progress.finish(end);
  const Instant whole = Instant{std::chrono::round<std::chrono::seconds>(at.time_since_epoch())};
  return {.at = whole_seconds_ && at != kNever ? std::max(whole, training.progress.since) : at,
          .is_end = end >= training.work};
}

void VirtualTraining::end_epoch(Instant now, JobId job, const SpeedBook& speeds) {
  Training& training = jobs_[job.value];
  const ApplicationProfile* profile = speeds.profile(training.speed, training.placement.pool);
  ++training.epoch;
  training.progress.change(now, true_speed(training, speeds), Duration{});
  training.progress.done = profile->steps(training.batch, training.epoch);
}

std::optional<StepObservation> VirtualTraining::observe(JobId job, const SpeedBook& speeds) const {
  const Training& training = jobs_[job.value];
  const ApplicationProfile* profile = speeds.profile(training.speed, training.placement.pool);
  const bool has_epochs = profile != nullptr && profile->epochs() > 0;
  if (training.share == 0 || training.split.is_own() || !has_epochs) {
    return std::nullopt;
  }
  const NodePattern nodes = pattern(training.placement);
  const PassTime time = profile->pass(nodes, training.split.local);
  const GradientNoise noise = profile->noise(training.split.batch(training.share), training.epoch);
  const double slower = 1 / training.noise;
  return StepObservation{.nodes = static_cast<int>(nodes.size()),
                         .workers = training.share,
                         .local_batch = training.split.local,
                         .pass_seconds = (time.step - time.exchange) * slower,
                         .step_seconds = time.step * slower,
                         .gradient_squared = noise.squared,
                         .gradient_variance = noise.variance};
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
