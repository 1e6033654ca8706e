// The training that commands set going, in virtual time: what is true, as opposed to believed.
#pragma once

#include <set>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/core/job.h"
#include "rubato/core/progress.h"
#include "rubato/core/topology.h"
#include "rubato/engine/command.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// One job as it really runs.
struct Training {
  SpeedId speed{};
  double noise = 1;  // True speed over the book's.
  int share = 0;
  Placement placement{};
  Progress progress{};
};

/// Knows the true progress of every job; ids are dense from zero.
class VirtualTraining {
 public:
  /// `noise`: standard deviation of the true speed around the book's, as a fraction.
  VirtualTraining(const Topology& topology, std::size_t jobs, double noise, double straggler_speed,
                  Random random);

  void arrive(const Job& job, SpeedId speed);
  void run(Instant now, const Run& command, const SpeedBook& speeds);
  void suspend(Instant now, JobId job);
  void stall(Instant now, const Stall& command);

  /// A slow spell of a node begins or ends; returns the jobs whose speed changes.
  std::vector<JobId> set_slow(Instant now, NodeId node, bool slow, const SpeedBook& speeds);

  [[nodiscard]] const Training& of(JobId job) const { return jobs_[job.value]; }
  /// When the job will be done at its present speed.
  [[nodiscard]] Instant finish(const Job& job) const {
    return jobs_[job.id.value].progress.finish(job.work);
  }
  /// Jobs with workers on a node.
  [[nodiscard]] std::vector<JobId> on_node(NodeId node) const;

 private:
  [[nodiscard]] double true_speed(const Training& training, const SpeedBook& speeds) const;
  [[nodiscard]] bool touches(const Placement& placement, const Node& node) const;

  Topology topology_;
  double noise_;
  double straggler_speed_;
  Random random_;
  std::vector<Training> jobs_;
  std::set<JobId> running_;
  std::vector<bool> slow_;  // Per node.
  int slow_nodes_ = 0;
};

}  // namespace rubato
