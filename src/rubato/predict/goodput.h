// How fast a job learns: steps per second, times what a step is worth at its batch size.
//
// The model of Pollux (OSDI'21, section 3). A pass over m samples takes a + b m; exchanging the
// gradients of K workers takes a' + b' (K - 2), with one pair of constants inside a node and one
// across nodes; the two overlap by a degree gamma (1: not at all, 10: almost wholly). A step with a
// batch M instead of the initial M0 is worth (phi + M0) / (phi + M) M / M0 steps, where phi is the
// gradient noise scale.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "rubato/core/batch.h"

namespace rubato {

/// Seconds, all of them but gamma.
struct ThroughputModel {
  double pass_constant = 0;
  double pass_per_sample = 0;
  double node_constant = 0;    // Exchange between workers of one node,
  double node_per_worker = 0;  // for each worker beyond two.
  double wide_constant = 0;    // Exchange across nodes.
  double wide_per_worker = 0;
  double gamma = 1;

  [[nodiscard]] double pass_seconds(double local_batch) const {
    return pass_constant + pass_per_sample * local_batch;
  }
  [[nodiscard]] double exchange_seconds(int nodes, int workers) const;
  /// One step that accumulates over `split.accumulation` passes before the one that exchanges.
  [[nodiscard]] double step_seconds(int nodes, int workers, const BatchSplit& split) const;

  friend bool operator==(const ThroughputModel&, const ThroughputModel&) = default;
};

/// Squared norm of the true gradient, and variance of its estimate at the initial batch.
struct GradientNoise {
  double squared = 0;
  double variance = 0;

  /// How many steps with the initial batch one step with `scale` times that batch is worth.
  [[nodiscard]] double gain(double scale) const;

  friend bool operator==(const GradientNoise&, const GradientNoise&) = default;
};

/// A way to run and what it brings, in samples of the initial batch per second.
struct Goodput {
  double rate = 0;  // Zero if the job cannot run so.
  BatchSplit split{};
};

/// The ways to train that are worth trying with some number of workers: fifty sizes between the
/// smallest and the largest batch permitted, in equal ratios, each split once. With one worker and
/// more than the initial batch gradients are accumulated at least once, since noise cannot be seen
/// in a single sample.
class BatchSizes {
 public:
  BatchSizes(const BatchLimits& limits, int workers);

  [[nodiscard]] std::span<const BatchSplit> splits() const { return {splits_.data(), count_}; }
  [[nodiscard]] int initial() const { return initial_; }
  [[nodiscard]] int workers() const { return workers_; }

 private:
  static constexpr int kSizes = 50;

  std::array<BatchSplit, kSizes> splits_{};  // Rising.
  std::size_t count_ = 0;
  int initial_;
  int workers_;
};

/// The best of these sizes on so many nodes.
[[nodiscard]] Goodput best_goodput(const ThroughputModel& model, const GradientNoise& noise,
                                   const BatchSizes& sizes, int nodes);

/// A given batch over this many workers: as few passes as memory permits, and rounded up unless
/// that exceeds the largest batch.
[[nodiscard]] BatchSplit split_batch(int batch, const BatchLimits& limits, int workers);

}  // namespace rubato
