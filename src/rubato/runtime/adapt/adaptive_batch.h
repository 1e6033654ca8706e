// Chooses the batch at which a job learns fastest with the workers it has: the largest product of
// samples per second and worth of a sample (goodput; Pollux, OSDI'21, sections 3 and 4.1).
//
// A step of M samples is taken to last a + b M seconds. Its goodput M (phi + M0) / ((a + b M)
// (phi + M)) has one peak, at M = sqrt(a phi / b): where the fixed cost of a step in relation to
// that of a sample balances the noise. Differences from AdaptDL: the peak is computed, not searched
// among fifty sizes; the fit is by least squares on the steps of the present workers alone.
#pragma once

#include <cstdint>
#include <span>

#include "rubato/runtime/adapt/noise_scale.h"

namespace rubato {

/// Mean duration of the steps of one batch size, at the present number of workers.
struct BatchTime {
  std::uint64_t batch = 0;
  double seconds = 0;
  double steps = 0;  // How many were measured.
};

/// Time of a step as it depends on the batch; both parts at least zero, not both zero.
struct BatchCost {
  double constant_seconds = 0;
  double sample_seconds = 0;

  [[nodiscard]] double step_seconds(double batch) const {
    return constant_seconds + sample_seconds * batch;
  }
};

/// Least squares over what was measured. With one batch size only, half of its time is taken to be
/// constant, as Pollux does. Nothing measured: both parts are zero.
[[nodiscard]] BatchCost fit_batch_cost(std::span<const BatchTime> times);

/// When and how far a batch may move. Off unless the job asks for it.
struct AdaptiveBatchOptions {
  bool is_enabled = false;
  std::uint64_t batch_min = 1;
  std::uint64_t batch_max = 1;
  std::uint64_t multiple = 1;         // Only multiples of this, such as the number of ranks.
  double gain_min = 1.05;             // Goodput must grow by this factor,
  double growth_max = 2;              // and the batch no further than this beyond what was tried.
  std::uint64_t noise_steps = 20;     // Steps that measured noise before the first move.
  std::uint64_t steps_between = 100;  // Steps between two moves.
};

/// The batch to go on with.
struct BatchProposal {
  std::uint64_t batch = 0;
  bool is_change = false;
  double goodput_now = 0;  // Samples of the initial batch per second; 0 if not known.
  double goodput_then = 0;
};

/// Decides between steps whether the batch should change.
class AdaptiveBatch {
 public:
  explicit AdaptiveBatch(const AdaptiveBatchOptions& options) : options_(options) {}

  /// The same answer to the same question. `times` are those of the present workers, and
  /// `steps_since_change` counts steps at the present batch.
  [[nodiscard]] BatchProposal propose(std::uint64_t batch, std::uint64_t steps_since_change,
                                      const NoiseScale& noise,
                                      std::span<const BatchTime> times) const;

 private:
  [[nodiscard]] std::uint64_t best(const BatchCost& cost, const NoiseScale& noise,
                                   std::uint64_t batch_max) const;

  AdaptiveBatchOptions options_;
};

}  // namespace rubato
