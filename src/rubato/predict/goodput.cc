#include "rubato/predict/goodput.h"

#include <algorithm>
#include <cmath>

#include "rubato/base/check.h"

namespace rubato {
namespace {

constexpr int kBatchSizes = 50;
constexpr double kSlack = 1e-8;  // What rounding may add to a batch that divides evenly.

int rounded_up(double number) { return static_cast<int>(std::ceil(number - kSlack)); }

// Passes of at most `local_max` samples each, and how many samples each then has.
BatchSplit split_local(double local_batch, const BatchLimits& limits, bool needs_two) {
  const int passes = std::max(rounded_up(local_batch / limits.local_max), needs_two ? 2 : 1);
  return {.local = rounded_up(local_batch / passes), .accumulation = passes - 1};
}

}  // namespace

double ThroughputModel::exchange_seconds(int nodes, int workers) const {
  if (workers <= 1) {
    return 0;
  }
  const int beyond_two = std::max(workers - 2, 0);
  return nodes > 1 ? wide_constant + wide_per_worker * beyond_two
                   : node_constant + node_per_worker * beyond_two;
}

double ThroughputModel::step_seconds(int nodes, int workers, const BatchSplit& split) const {
  const double pass = pass_seconds(split.local);
  const double exchange = exchange_seconds(nodes, workers);
  const double last =
      exchange > 0 ? std::pow(std::pow(pass, gamma) + std::pow(exchange, gamma), 1 / gamma) : pass;
  return split.accumulation * pass + last;
}

double GradientNoise::gain(double scale) const {
  const double noise = variance / scale + squared;
  return noise > 0 ? (variance + squared) / noise : 1;
}

Goodput best_goodput(const ThroughputModel& model, const GradientNoise& noise,
                     const BatchLimits& limits, int nodes, int workers) {
  RUBATO_CHECK(nodes >= 1 && workers >= nodes);
  const double least =
      std::max<double>(limits.initial, static_cast<double>(limits.local_min) * workers);
  Goodput best;
  if (least > limits.max) {
    return best;
  }
  // The exchange does not depend on the batch, and its power is the dear part of a step.
  const double exchange = model.exchange_seconds(nodes, workers);
  const double exchange_power = exchange > 0 ? std::pow(exchange, model.gamma) : 0;
  const double ratio = std::pow(limits.max / least, 1.0 / (kBatchSizes - 1));
  double batch = least;
  for (int i = 0; i < kBatchSizes; ++i, batch *= ratio) {
    const double local_batch = std::min<double>(batch, limits.max) / workers;
    const BatchSplit split =
        split_local(local_batch, limits, workers == 1 && local_batch > limits.initial + kSlack);
    if (split.local < limits.local_min || split.local > limits.local_max || split == best.split) {
      continue;
    }
    const double pass = model.pass_seconds(split.local);
    const double last =
        exchange > 0 ? std::pow(std::pow(pass, model.gamma) + exchange_power, 1 / model.gamma)
                     : pass;
    const double scale = static_cast<double>(split.batch(workers)) / limits.initial;
    const double rate = limits.initial * noise.gain(scale) / (split.accumulation * pass + last);
    if (rate > best.rate) {
      best = {.rate = rate, .split = split};
    }
  }
  return best;
}

BatchSplit split_batch(int batch, const BatchLimits& limits, int workers) {
  const int local_batch = rounded_up(static_cast<double>(batch) / workers);
  BatchSplit split = split_local(local_batch, limits, workers == 1 && batch > limits.initial);
  const int passes = workers * (split.accumulation + 1);
  split.local = std::min(split.local, std::max(1, limits.max / passes));
  return split;
}

}  // namespace rubato
