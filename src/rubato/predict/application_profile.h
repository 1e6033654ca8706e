// One application as it was measured: step times by placement and batch, and how its trainings
// went.
//
// The data behind the simulator of Pollux (OSDI'21): what a scheduler does to a job is played back
// from these measurements. A training is over when its progress, counted in steps of the initial
// batch, has passed the last epoch; a step with another batch is worth as much progress as the
// gradient noise of the epoch says.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/core/batch.h"
#include "rubato/predict/goodput.h"
#include "rubato/predict/profile_rows.h"
#include "rubato/predict/scattered_points.h"
#include "rubato/predict/speed_row.h"

namespace rubato {

/// Seconds of one pass over a local batch with exchange of gradients, and of the exchange in it.
struct PassTime {
  double step = 0;
  double exchange = 0;
};

/// Remembers what it has interpolated, so one object must not be asked by two threads at once.
class ApplicationProfile {
 public:
  /// There must be times.
  explicit ApplicationProfile(ProfileData data);
  ApplicationProfile(std::span<const StepTime> times, std::map<int, std::vector<Epoch>> epochs,
                     int local_max = 0)
      : ApplicationProfile({.times = {times.begin(), times.end()},
                            .epochs = std::move(epochs),
                            .local_max = local_max}) {}

  /// What it was made of.
  [[nodiscard]] const ProfileData& data() const { return data_; }

  [[nodiscard]] const BatchLimits& limits() const { return limits_; }

  /// A placement that was measured gives its own times, any other one those of its neighbours.
  /// Nodes are taken to stand in a ring. Local batches outside what was measured count as the
  /// nearest.
  [[nodiscard]] PassTime pass(const NodePattern& nodes, int local_batch) const;
  [[nodiscard]] double step_seconds(const NodePattern& nodes, const BatchSplit& split) const;

  [[nodiscard]] int epochs() const { return static_cast<int>(progress_.size()); }
  /// Gradient noise in an epoch (from zero) at a batch.
  [[nodiscard]] GradientNoise noise(int batch, int epoch) const;
  /// How many steps with the initial batch one with this batch is worth.
  [[nodiscard]] double gain(int batch, int epoch) const;
  /// Steps with this batch until so many epochs are over.
  [[nodiscard]] double steps(int batch, int epochs) const;
  [[nodiscard]] double steps(int batch) const { return steps(batch, epochs()); }
  /// The epoch, from zero, of a training that has done so many steps with this batch.
  [[nodiscard]] int epoch_at(int batch, double done) const;
  /// Steps that recorded trainings with this batch had done at the end of an epoch.
  [[nodiscard]] double recorded_steps(int batch, int epoch) const;

  /// How a job that insists on its batch splits it.
  [[nodiscard]] BatchSplit split(int batch, int workers) const;
  /// Steps per second of a job that insists on its batch.
  [[nodiscard]] double speed(const NodePattern& nodes, int batch) const;
  /// The same for close placements of each measured number of workers.
  [[nodiscard]] std::vector<SpeedRow> speed_rows(std::string_view model, int batch) const;

 private:
  using ByLocalBatch = std::map<int, PassTime>;

  [[nodiscard]] PassTime interpolated(const NodePattern& nodes, int local_batch) const;

  ProfileData data_;
  BatchLimits limits_{};
  std::map<NodePattern, ByLocalBatch> placements_;
  std::vector<int> counts_;  // Workers that were measured, rising.
  int node_workers_max_ = 0;
  ScatteredPoints scattered_{{}};
  std::vector<double> progress_;                                 // At the end of each epoch.
  mutable std::map<std::tuple<int, int, int>, PassTime> known_;  // By nodes, workers, local batch.
  mutable std::map<int, std::vector<double>> steps_;             // By batch, then epochs.
};

}  // namespace rubato
