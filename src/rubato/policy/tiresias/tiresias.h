// Tiresias: least attained service first, in a few queues; knows nothing about run times.
//
// Gu et al., NSDI'19, section 3: two-dimensional (GPUs times time) discretised LAS. A job starts in
// the first queue and falls into the next when its attained service passes a threshold. At a round
// all jobs stand in order of queue; each in turn runs if its GPUs are free, else it is skipped, and
// stopped if it was running. With `gittins=on` jobs inside a queue stand by Gittins index, from the
// services of the jobs that finished so far (2D-Gittins); else first come, first served.
//
// By default it does what the simulator published with ElasticFlow (ASPLOS'23) does: thresholds
// 3250 and 7200 GPU-seconds, no promotion, at most one fall at a round, and inside a queue running
// jobs ahead of waiting ones, each in the order in which they became so (jobs that fell at this
// round still behind the waiting). A round is held after every event, and when a running job may
// have reached a threshold: at a guess that takes seconds for GPU-seconds and so is often late.
// `falls=prompt` holds that round at the right moment and lets a job fall as far as it must, and
// `order=arrival` lets jobs stand in the order in which they entered their queue, running or not,
// so that an earlier job that was too wide takes its GPUs back from later ones. `place=emptiest`
// puts a job on the emptiest nodes (emptiest_nodes.h). All three are what the simulator published
// with Pollux (OSDI'21) does, and the default for thresholds other than ElasticFlow's.
//
// Differences from the paper: placement by model skew is the placer's matter, not ours; the index
// of a job is computed when it arrives, starts, stops or falls, and not while it runs; its history
// holds the last kHistoryMax jobs. Attained service is run time at the present speed, pauses not
// counted, times GPUs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::tiresias {

struct TiresiasOptions {
  static constexpr std::size_t kThresholdsMax = 60;
  static constexpr std::size_t kHistoryMax = 1000;

  std::vector<double> thresholds{3250, 7200};  // GPU-seconds, rising.
  bool by_arrival = false;                     // See above.
  bool falls_promptly = false;
  bool on_emptiest = false;
  bool gittins = false;
  double knob = 0;  // Back to the first queue after waiting so many times its run time; 0: never.
};

[[nodiscard]] std::unique_ptr<Policy> make_tiresias(TiresiasOptions options);

/// `thresholds=3250/7200`, `order=artifact|arrival`, `falls=artifact|prompt`,
/// `place=placer|emptiest`, `gittins=off`, `knob=0`; with other thresholds order is `arrival`,
/// falls are `prompt` and jobs go to the emptiest nodes unless said.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_tiresias(const PolicyOptions& options);

[[nodiscard]] PolicyInfo tiresias_policy();

}  // namespace rubato::policy::tiresias
