// How noisy gradients are, measured from what a reduction reports anyway, and what that says about
// other batch sizes (Pollux, OSDI'21, section 3.1; McCandlish et al., "An empirical model of
// large-batch training", 2018; AdaScale, Johnson et al., ICML'20).
//
// Let G be the true gradient and Sigma the covariance of one sample's gradient. The mean gradient
// g_k of a shard with b_k samples has E|g_k|^2 = |G|^2 + tr(Sigma) / b_k, and the weighted sum
// g = sum w_k g_k with w_k = b_k / B has E|g|^2 = |G|^2 + tr(Sigma) / B. Weigh the shards' squares
// likewise, L = sum w_k |g_k|^2; then each of the n shards that are not empty adds
// (b_k / B) tr(Sigma) / b_k, and E L = |G|^2 + n tr(Sigma) / B however uneven they are. Hence
//
//     tr(Sigma) ~ B (L - |g|^2) / (n - 1)        |G|^2 ~ (n |g|^2 - L) / (n - 1)
//
// are both without bias; for even shards they are what AdaptDL computes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rubato/runtime/communicator.h"

namespace rubato {

/// What one step says about the noise of its gradients. Either may be negative by chance.
struct NoiseSample {
  double squared = 0;  // |G|^2.
  double trace = 0;    // tr(Sigma), of one sample.
};

/// Nothing if fewer than two shards have samples, or if a square is not finite (mixed precision
/// skips such steps). A single gradient could be compared with the one before, but that needs a
/// copy of it and three more passes over memory: a worker that trains alone measures by splitting
/// its batch into two shards instead.
[[nodiscard]] std::optional<NoiseSample> noise_sample(std::uint64_t batch,
                                                      std::span<const float> weights,
                                                      const ReduceReport& report);

/// Rules that turn a larger batch into a larger learning rate.
enum class RateRule {
  Unchanged,
  AdaScale,    // The gain; for plain or momentum gradient descent.
  AdamScale,   // Its root; for Adam and its kin.
  Linear,      // The batch's ratio.
  SquareRoot,  // The root of that.
};

/// What the running estimates rest on; handed to newcomers.
struct NoiseTotals {
  double squared_sum = 0;
  double trace_sum = 0;
  double weight_sum = 0;
  std::uint64_t steps = 0;

  friend bool operator==(const NoiseTotals&, const NoiseTotals&) = default;
};

/// Running estimates over the steps of a job, with AdaptDL's averages: a step weighs more the
/// larger its batch is, and early values are not pulled towards zero.
class NoiseScale {
 public:
  /// `initial_batch` is the one the job's learning rate was chosen for.
  explicit NoiseScale(std::uint64_t initial_batch, double smoothing = 0.999);

  /// Takes in a step; false, and nothing changes, if it measured nothing.
  bool add(std::uint64_t batch, std::span<const float> weights, const ReduceReport& report);
  /// Forgets all, for instance when training starts over from other parameters.
  void reset();
  [[nodiscard]] const NoiseTotals& totals() const { return totals_; }
  /// Goes on where another worker is.
  void resume(const NoiseTotals& totals) { totals_ = totals; }

  [[nodiscard]] bool is_measured() const { return totals_.steps > 0; }
  [[nodiscard]] std::uint64_t steps() const { return totals_.steps; }
  [[nodiscard]] std::uint64_t initial_batch() const { return initial_batch_; }

  // Only if measured:
  [[nodiscard]] double squared() const;  // |G|^2, at least zero.
  [[nodiscard]] double trace() const;    // tr(Sigma), above zero.
  /// The batch at which noise and signal are equal; infinite if there is no signal.
  [[nodiscard]] double scale() const;
  /// How many steps of the initial batch one step of this batch is worth.
  [[nodiscard]] double gain(double batch) const;
  /// The worth of a sample in a batch of this size, in relation to the initial one.
  [[nodiscard]] double efficiency(double batch) const;
  /// What to multiply the learning rate by for one step of this batch. Unmeasured noise leaves it
  /// as it is under the rules that need the gain.
  [[nodiscard]] double rate_factor(RateRule rule, double batch) const;

 private:
  std::uint64_t initial_batch_;
  double smoothing_;
  NoiseTotals totals_{};
};

}  // namespace rubato
