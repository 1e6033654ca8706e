// One application's measured step times and training curves, in the files of Pollux (OSDI'21), to
// rows of the speed book and steps of work. Text in, values out.
//
// Differences to Pollux's simulator: of the placements over several nodes only those on the fewest
// nodes measured count, since the speed book knows spans, not placements (equal ones are averaged,
// as there); nothing is interpolated between GPU counts; the batch does not adapt.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// One measurement. `sync_seconds` is the part of the step that waits for other workers' gradients.
struct StepTime {
  int nodes = 0;
  int gpus = 0;
  int local_batch = 0;  // Samples per GPU.
  double step_seconds = 0;
  double sync_seconds = 0;
};

/// `placement,local_bsz,step_time,sync_time`; placement 24 is two GPUs on one node, four on
/// another.
[[nodiscard]] Result<std::vector<StepTime>> parse_placements(std::string_view text,
                                                             std::string_view file);
/// `num_nodes,num_replicas,local_bsz,step_time,sync_time`.
[[nodiscard]] Result<std::vector<StepTime>> parse_scalability(std::string_view text,
                                                              std::string_view file);
/// `validation-<batch>.csv`: the steps a whole training takes, which is `iteration` of its last
/// row.
[[nodiscard]] Result<double> parse_training_steps(std::string_view text, std::string_view file);

/// The measured batch whose training curve stands for `batch`: itself, else the nearest above, else
/// the largest. `measured` rises and is not empty.
[[nodiscard]] int curve_batch(std::span<const int> measured, int batch);

/// Steps at `batch` when `steps` were needed at `curve_batch`; never too few. A smaller batch needs
/// at most the same samples, a larger one at most the same steps.
[[nodiscard]] double steps_at_batch(double steps, int curve_batch, int batch);

/// Step times of one application by GPUs, nodes and local batch.
class MeasuredProfile {
 public:
  explicit MeasuredProfile(std::span<const StepTime> measured);

  /// Speeds of a global batch split evenly, at each measured number of GPUs. A local batch between
  /// two measured ones is interpolated, one above the largest runs as several passes with one
  /// exchange of gradients, one below the smallest is left out. What was measured on several nodes
  /// also stands for a node with more GPUs than any measured.
  [[nodiscard]] std::vector<SpeedRow> speed_rows(std::string_view model, int batch) const;

  /// Zero without measurements.
  [[nodiscard]] int smallest_local_batch() const;

 private:
  struct Mean {
    double step_seconds = 0;
    double sync_seconds = 0;
    int count = 0;
  };
  using ByLocalBatch = std::map<int, Mean>;

  [[nodiscard]] static Mean pass_at(const ByLocalBatch& measured, int local_batch);
  [[nodiscard]] static double speed_at(const ByLocalBatch& measured, int gpus, int batch);

  std::map<std::pair<int, int>, ByLocalBatch> by_gpus_and_nodes_;
};

}  // namespace rubato
