#include "rubato/runtime/adapt/adaptive_batch.h"

#include <algorithm>
#include <cmath>

namespace rubato {
namespace {

// Samples of the initial batch per second.
double goodput(const BatchCost& cost, const NoiseScale& noise, std::uint64_t batch) {
  const auto samples = static_cast<double>(batch);
  return samples / cost.step_seconds(samples) * noise.efficiency(samples);
}

bool is_usable(const BatchTime& time) {
  return time.batch > 0 && time.steps > 0 && time.seconds > 0 && std::isfinite(time.seconds);
}

// The largest batch that was run.
std::uint64_t largest(std::span<const BatchTime> times, std::uint64_t at_least) {
  for (const BatchTime& time : times) {
    at_least = std::max(at_least, is_usable(time) ? time.batch : 0);
  }
  return at_least;
}

// Sums of a weighted least-squares line.
struct LineSums {
  double weight = 0;
  double batch = 0;
  double seconds = 0;
};

}  // namespace

BatchCost fit_batch_cost(std::span<const BatchTime> times) {
  LineSums sums;
  for (const BatchTime& time : times) {
    if (is_usable(time)) {
      sums.weight += time.steps;
      sums.batch += time.steps * static_cast<double>(time.batch);
      sums.seconds += time.steps * time.seconds;
    }
  }
  if (sums.weight <= 0) {
    return {};
  }
  const double batch_mean = sums.batch / sums.weight;
  const double seconds_mean = sums.seconds / sums.weight;
  double spread = 0;
  double slope = 0;
  for (const BatchTime& time : times) {
    if (is_usable(time)) {
      const double distance = static_cast<double>(time.batch) - batch_mean;
      spread += time.steps * distance * distance;
      slope += time.steps * distance * (time.seconds - seconds_mean);
    }
  }
  if (spread <= 0) {
    return {.constant_seconds = seconds_mean / 2, .sample_seconds = seconds_mean / 2 / batch_mean};
  }
  // Neither part can be negative: a line that says so is noise, and the nearest one that does not
  // goes through the mean.
  const double steepest = seconds_mean / batch_mean;
  const double sample = std::clamp(slope / spread, 0.0, steepest);
  return {.constant_seconds = std::max(0.0, seconds_mean - sample * batch_mean),
          .sample_seconds = sample};
}

// The permitted batch of largest goodput. The curve has a single peak, so it is the permitted one
// just below the peak or just above it.
std::uint64_t AdaptiveBatch::best(const BatchCost& cost, const NoiseScale& noise,
                                  std::uint64_t batch_max) const {
  const std::uint64_t multiple = std::max<std::uint64_t>(options_.multiple, 1);
  const std::uint64_t lowest =
      (std::max<std::uint64_t>(options_.batch_min, 1) + multiple - 1) / multiple * multiple;
  const std::uint64_t highest = batch_max / multiple * multiple;
  if (highest < lowest) {
    return 0;
  }
  const double peak = std::sqrt(cost.constant_seconds / cost.sample_seconds * noise.scale());
  if (!(peak < static_cast<double>(highest))) {
    // Without noise-free signal or cost of a sample there is no peak; NaN, where both hold in part,
    // is a flat curve.
    return std::isnan(peak) ? lowest : highest;
  }
  const std::uint64_t below =
      std::clamp(static_cast<std::uint64_t>(peak) / multiple * multiple, lowest, highest);
  const std::uint64_t above = std::min(below + multiple, highest);
  return goodput(cost, noise, above) > goodput(cost, noise, below) ? above : below;
}

BatchProposal AdaptiveBatch::propose(std::uint64_t batch, std::uint64_t steps_since_change,
                                     const NoiseScale& noise,
                                     std::span<const BatchTime> times) const {
  const BatchCost cost = fit_batch_cost(times);
  if (!options_.is_enabled || batch == 0 || noise.steps() < options_.noise_steps ||
      !noise.is_measured() || cost.step_seconds(1) <= 0) {
    return {.batch = batch};
  }
  const double reach = options_.growth_max * static_cast<double>(largest(times, batch));
  const auto batch_max = static_cast<std::uint64_t>(
      std::min(static_cast<double>(options_.batch_max), std::floor(reach)));
  const double now = goodput(cost, noise, batch);
  const std::uint64_t wanted = best(cost, noise, batch_max);
  if (wanted == 0 || wanted == batch || steps_since_change < options_.steps_between) {
    return {.batch = batch, .goodput_now = now, .goodput_then = now};
  }
  const double then = goodput(cost, noise, wanted);
  if (then < now * options_.gain_min) {
    return {.batch = batch, .goodput_now = now, .goodput_then = now};
  }
  return {.batch = wanted, .is_change = true, .goodput_now = now, .goodput_then = then};
}

}  // namespace rubato
