// The training that commands set going, in virtual time: what is true, as opposed to believed.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/core/event.h"
#include "rubato/core/job.h"
#include "rubato/core/progress.h"
#include "rubato/core/topology.h"
#include "rubato/engine/state/command.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// One job as it really runs.
struct Training {
  SpeedId speed{};
  int batch = 0;  // Its own; steps are counted in it, whatever batch it trains with.
  double work = 0;
  int epoch = 0;     // Of a job whose application was profiled.
  double noise = 1;  // True speed over the book's.
  int share = 0;
  Placement placement{};
  BatchSplit split{};
  Progress progress{};
};

/// Knows the true progress of every job; ids are dense from zero.
class VirtualTraining {
 public:
  /// `noise`: standard deviation of the true speed around the book's, as a fraction.
  VirtualTraining(const Topology& topology, std::size_t jobs, double noise, double straggler_speed,
                  Random random);

  /// Epochs end at the nearest whole second, as in the simulator that measured profiles come from.
  void count_whole_seconds() { whole_seconds_ = true; }

  void arrive(const Job& job, SpeedId speed);
  void run(Instant now, const Run& command, const SpeedBook& speeds);
  void rebatch(Instant now, const Rebatch& command, const SpeedBook& speeds);
  void suspend(Instant now, JobId job);
  void stall(Instant now, const Stall& command);

  /// A slow spell of a node begins or ends; returns the jobs whose speed changes.
  std::vector<JobId> set_slow(Instant now, NodeId node, bool slow, const SpeedBook& speeds);

  [[nodiscard]] const Training& of(JobId job) const { return jobs_[job.value]; }
  /// The end of the epoch a job is in, or of its training.
  struct Milestone {
    Instant at = kNever;
    bool is_end = true;
  };

  /// When the job's speed next changes by itself, or its training ends.
  [[nodiscard]] Milestone next(JobId job, const SpeedBook& speeds) const;
  /// The job has come to the end of an epoch: from now on it trains at the speed of the next.
  void end_epoch(Instant now, JobId job, const SpeedBook& speeds);
  /// How long its steps take as it stands; nothing if that was not measured.
  [[nodiscard]] std::optional<StepObservation> observe(JobId job, const SpeedBook& speeds) const;
  /// Jobs with workers on a node.
  [[nodiscard]] std::vector<JobId> on_node(NodeId node) const;

 private:
  [[nodiscard]] double true_speed(const Training& training, const SpeedBook& speeds) const;
  [[nodiscard]] double profiled_speed(const Training& training,
                                      const ApplicationProfile& profile) const;
  [[nodiscard]] NodePattern pattern(const Placement& placement) const;
  [[nodiscard]] bool touches(const Placement& placement, const Node& node) const;

  Topology topology_;
  double noise_;
  double straggler_speed_;
  bool whole_seconds_ = false;
  Random random_;
  std::vector<Training> jobs_;
  std::set<JobId> running_;
  std::vector<bool> slow_;  // Per node.
  int slow_nodes_ = 0;
};

}  // namespace rubato
