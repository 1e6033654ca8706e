#include "rubato/predict/goodput.h"

#include <algorithm>
#include <cmath>

#include "rubato/base/check.h"

namespace rubato {
namespace {

constexpr double kSlack = 1e-8;  // What rounding may add to a batch that divides evenly.

int rounded_up(double number) { return static_cast<int>(std::ceil(number - kSlack)); }

// Passes of at most `local_max` samples each, and how many samples each then has.
BatchSplit split_local(double local_batch, const BatchLimits& limits, bool needs_two) {
  const int passes = std::max(rounded_up(local_batch / limits.local_max), needs_two ? 2 : 1);
  return {.local = rounded_up(local_batch / passes), .accumulation = passes - 1};
}

/// Goodput as a function of the split, for one placement.
class RateAt {
 public:
  RateAt(const ThroughputModel& model, const GradientNoise& noise, const BatchSizes& sizes,
         int nodes)
      : model_(model),
        noise_(noise),
        initial_(sizes.initial()),
        workers_(sizes.workers()),
        exchange_(model.exchange_seconds(nodes, workers_)),
        exchange_power_(exchange_ > 0 ? std::pow(exchange_, model.gamma) : 0) {}

  [[nodiscard]] double operator()(const BatchSplit& split) const {
    const double pass = model_.pass_seconds(split.local);
    const double last =
        exchange_ > 0 ? std::pow(std::pow(pass, model_.gamma) + exchange_power_, 1 / model_.gamma)
                      : pass;
    const double scale = static_cast<double>(split.batch(workers_)) / initial_;
    return initial_ * noise_.gain(scale) / (split.accumulation * pass + last);
  }

  /// The best among splits of equal accumulation, rising. With that fixed the rate has one peak:
  /// its logarithm's slope in the local batch m has the sign of v - m (v + g m) t'(m) / t(m), where
  /// t is the time of a step, and the second term only rises. So the peak is found by halving.
  [[nodiscard]] Goodput peak(std::span<const BatchSplit> splits) const {
    std::size_t low = 0;
    std::size_t high = splits.size() - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if ((*this)(splits[middle]) >= (*this)(splits[middle + 1])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return {.rate = (*this)(splits[low]), .split = splits[low]};
  }

 private:
  const ThroughputModel& model_;
  const GradientNoise& noise_;
  double initial_;
  int workers_;
  double exchange_;
  double exchange_power_;
};

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

BatchSizes::BatchSizes(const BatchLimits& limits, int workers)
    : initial_(limits.initial), workers_(workers) {
  const double least =
      std::max<double>(limits.initial, static_cast<double>(limits.local_min) * workers);
  if (least > limits.max) {
    return;
  }
  const double ratio = std::pow(limits.max / least, 1.0 / (kSizes - 1));
  double batch = least;
  for (int i = 0; i < kSizes; ++i, batch *= ratio) {
    const double local_batch = std::min<double>(batch, limits.max) / workers;
    const BatchSplit split =
        split_local(local_batch, limits, workers == 1 && local_batch > limits.initial + kSlack);
    const bool is_new = count_ == 0 || splits_[count_ - 1] != split;
    if (is_new && split.local >= limits.local_min && split.local <= limits.local_max) {
      splits_[count_++] = split;
    }
  }
}

Goodput best_goodput(const ThroughputModel& model, const GradientNoise& noise,
                     const BatchSizes& sizes, int nodes) {
  RUBATO_CHECK(nodes >= 1 && sizes.workers() >= nodes);
  const std::span<const BatchSplit> splits = sizes.splits();
  const RateAt rate_at(model, noise, sizes, nodes);
  Goodput best;
  std::size_t begin = 0;
  while (begin < splits.size()) {
    std::size_t end = begin + 1;
    while (end < splits.size() && splits[end].accumulation == splits[begin].accumulation) {
      ++end;
    }
    const Goodput found = rate_at.peak(splits.subspan(begin, end - begin));
    best = found.rate > best.rate ? found : best;
    begin = end;
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
