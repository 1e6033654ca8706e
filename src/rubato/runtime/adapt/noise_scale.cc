#include "rubato/runtime/adapt/noise_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// Smallest variance of the gradient at the initial batch: as in AdaptDL.
constexpr double kVarianceMin = 1e-6;

}  // namespace

std::optional<NoiseSample> noise_sample(std::uint64_t batch, std::span<const float> weights,
                                        const ReduceReport& report) {
  RUBATO_CHECK(weights.size() == report.shard_squares.size());
  double shards = 0;
  double squares = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) {  // What the slot of an empty shard holds means nothing.
      shards += 1;
      squares += static_cast<double>(weights[i]) * report.shard_squares[i];
    }
  }
  if (shards < 2 || !std::isfinite(squares) || !std::isfinite(report.sum_square)) {
    return std::nullopt;
  }
  return NoiseSample{
      .squared = (shards * report.sum_square - squares) / (shards - 1),
      .trace = static_cast<double>(batch) * (squares - report.sum_square) / (shards - 1)};
}

NoiseScale::NoiseScale(std::uint64_t initial_batch, double smoothing)
    : initial_batch_(initial_batch), smoothing_(smoothing) {
  RUBATO_CHECK(initial_batch > 0);
  RUBATO_CHECK(smoothing > 0 && smoothing < 1);
}

bool NoiseScale::add(std::uint64_t batch, std::span<const float> weights,
                     const ReduceReport& report) {
  const auto sample = noise_sample(batch, weights, report);
  if (!sample) {
    return false;
  }
  const double ratio = static_cast<double>(batch) / static_cast<double>(initial_batch_);
  const double kept = std::pow(smoothing_, ratio);
  totals_.squared_sum = kept * totals_.squared_sum + (1 - kept) * sample->squared;
  totals_.trace_sum = kept * totals_.trace_sum + (1 - kept) * sample->trace;
  totals_.weight_sum = kept * totals_.weight_sum + (1 - kept);
  ++totals_.steps;
  return true;
}

void NoiseScale::reset() { *this = NoiseScale(initial_batch_, smoothing_); }

double NoiseScale::squared() const {
  RUBATO_CHECK(is_measured());
  return std::max(totals_.squared_sum / totals_.weight_sum, 0.0);
}

double NoiseScale::trace() const {
  RUBATO_CHECK(is_measured());
  return std::max(totals_.trace_sum / totals_.weight_sum,
                  kVarianceMin * static_cast<double>(initial_batch_));
}

double NoiseScale::scale() const {
  const double signal = squared();
  return signal > 0 ? trace() / signal : std::numeric_limits<double>::infinity();
}

double NoiseScale::gain(double batch) const {
  RUBATO_CHECK(batch > 0);
  const double signal = squared();
  const double noise = trace();
  return (noise / static_cast<double>(initial_batch_) + signal) / (noise / batch + signal);
}

double NoiseScale::efficiency(double batch) const {
  return gain(batch) * static_cast<double>(initial_batch_) / batch;
}

double NoiseScale::rate_factor(RateRule rule, double batch) const {
  const double ratio = batch / static_cast<double>(initial_batch_);
  switch (rule) {
    case RateRule::AdaScale:
      return is_measured() ? gain(batch) : 1;
    case RateRule::AdamScale:
      return is_measured() ? std::sqrt(gain(batch)) : 1;
    case RateRule::Linear:
      return ratio;
    case RateRule::SquareRoot:
      return std::sqrt(ratio);
    case RateRule::Unchanged:
      break;
  }
  return 1;
}

}  // namespace rubato
