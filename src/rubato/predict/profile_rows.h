// The files of a measured profile, in the layout of Pollux (OSDI'21): text in, rows out.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/predict/goodput.h"

namespace rubato {

/// Workers on each node of a placement.
using NodePattern = std::vector<int>;

/// One measurement. `sync_seconds` is the part of the step that waits for other workers' gradients.
struct StepTime {
  int nodes = 0;
  int gpus = 0;
  NodePattern pattern{};  // Empty if only the counts are known.
  int local_batch = 0;    // Samples per GPU.
  double step_seconds = 0;
  double sync_seconds = 0;

  friend bool operator==(const StepTime&, const StepTime&) = default;
};

/// What was reached at the end of one epoch of a training.
struct Epoch {
  double progress = 0;  // Steps with the initial batch that would have got as far.
  double steps = 0;
  GradientNoise noise{};  // During the epoch.

  friend bool operator==(const Epoch&, const Epoch&) = default;
};

/// All measurements of one application on one GPU type.
struct ProfileData {
  std::vector<StepTime> times{};
  std::map<int, std::vector<Epoch>> epochs{};  // By batch; without any the batch cannot adapt.
  int local_max = 0;  // Samples that a worker takes at a time; 0: as many as were measured.

  friend bool operator==(const ProfileData&, const ProfileData&) = default;
};

/// `placement,local_bsz,step_time,sync_time`; placement 24 is two GPUs on one node, four on
/// another.
[[nodiscard]] Result<std::vector<StepTime>> parse_placements(std::string_view text,
                                                             std::string_view file);
/// `num_nodes,num_replicas,local_bsz,step_time,sync_time`.
[[nodiscard]] Result<std::vector<StepTime>> parse_scalability(std::string_view text,
                                                              std::string_view file);
/// `validation-<batch>.csv`: one row for each epoch, progress and steps rising.
[[nodiscard]] Result<std::vector<Epoch>> parse_epochs(std::string_view text, std::string_view file);

}  // namespace rubato
