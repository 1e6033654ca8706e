#include "rubato/predict/application_profile.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "rubato/base/check.h"

namespace rubato {
namespace {

constexpr int kNodesMax = 16;  // Beyond this many nodes another one is taken to change nothing.

// The rotation that comes first: neighbours stay neighbours, whoever is counted first.
NodePattern rotated(const NodePattern& nodes) {
  NodePattern best = nodes;
  NodePattern next = nodes;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    std::ranges::rotate(next, next.begin() + 1);
    best = std::min(best, next);
  }
  return best;
}

// Full nodes, and the rest on one more.
NodePattern close_pattern(int workers, int node_workers) {
  NodePattern nodes(static_cast<std::size_t>(workers / node_workers), node_workers);
  if (workers % node_workers != 0) {
    nodes.push_back(workers % node_workers);
  }
  return nodes;
}

// Between the two measured neighbours of a key; outside them the nearest. `mix(left, right, part)`.
template <typename Map, typename Mix>
auto between(const Map& measured, int key, Mix mix) {
  const auto above = measured.lower_bound(key);
  if (above == measured.end()) {
    return measured.rbegin()->second;
  }
  if (above->first == key || above == measured.begin()) {
    return above->second;
  }
  const auto below = std::prev(above);
  const double part =
      static_cast<double>(key - below->first) / static_cast<double>(above->first - below->first);
  return mix(below->second, above->second, part);
}

PassTime mixed(const PassTime& left, const PassTime& right, double part) {
  return {.step = std::lerp(left.step, right.step, part),
          .exchange = std::lerp(left.exchange, right.exchange, part)};
}

// The mean over placements of equal nodes, workers and local batch, as scattered points.
std::vector<ScatteredPoint> means(std::span<const StepTime> times) {
  struct Sum {
    double step = 0;
    double exchange = 0;
    int count = 0;
  };
  std::map<std::tuple<int, int, int>, Sum> sums;
  for (const StepTime& time : times) {
    Sum& sum = sums[{time.nodes, time.gpus, time.local_batch}];
    sum.step += time.step_seconds;
    sum.exchange += time.sync_seconds;
    ++sum.count;
  }
  std::vector<ScatteredPoint> points;
  for (const auto& [key, sum] : sums) {
    const auto [nodes, workers, local_batch] = key;
    points.push_back({.at = {static_cast<double>(nodes), static_cast<double>(workers),
                             static_cast<double>(local_batch)},
                      .value = {sum.step / sum.count, sum.exchange / sum.count}});
  }
  return points;
}

}  // namespace

ApplicationProfile::ApplicationProfile(ProfileData data)
    : data_(std::move(data)), scattered_(means(data_.times)) {
  const std::vector<StepTime>& times = data_.times;
  RUBATO_CHECK(!times.empty());
  std::set<int> counts;
  limits_ = {.local_min = times.front().local_batch, .local_max = times.front().local_batch};
  for (const StepTime& time : times) {
    counts.insert(time.gpus);
    limits_.local_min = std::min(limits_.local_min, time.local_batch);
    limits_.local_max = std::max(limits_.local_max, time.local_batch);
    if (!time.pattern.empty()) {
      placements_[rotated(time.pattern)][time.local_batch] = {.step = time.step_seconds,
                                                              .exchange = time.sync_seconds};
      node_workers_max_ = std::max(node_workers_max_, std::ranges::max(time.pattern));
    }
  }
  if (data_.local_max > 0) {
    limits_.local_max = std::max(limits_.local_min, std::min(limits_.local_max, data_.local_max));
  }
  node_workers_max_ = std::max(node_workers_max_, 1);
  counts_.assign(counts.begin(), counts.end());
  if (data_.epochs.empty()) {
    return;
  }
  limits_.initial = data_.epochs.begin()->first;
  limits_.max = data_.epochs.rbegin()->first;
  std::size_t length = data_.epochs.begin()->second.size();
  for (const auto& [batch, curve] : data_.epochs) {
    length = std::min(length, curve.size());
  }
  for (std::size_t epoch = 0; epoch < length; ++epoch) {
    double least = data_.epochs.begin()->second[epoch].progress;
    for (const auto& [batch, curve] : data_.epochs) {
      least = std::min(least, curve[epoch].progress);
    }
    progress_.push_back(least);
  }
}

PassTime ApplicationProfile::interpolated(const NodePattern& nodes, int local_batch) const {
  const int count = std::min(static_cast<int>(nodes.size()), kNodesMax);
  const int workers = std::accumulate(nodes.begin(), nodes.end(), 0);
  const auto [known, is_new] = known_.try_emplace({count, workers, local_batch});
  if (is_new) {
    const std::array<double, 3> position = {
        static_cast<double>(count), static_cast<double>(workers), static_cast<double>(local_batch)};
    const auto inside = scattered_.at(position);
    const auto value = inside ? *inside : scattered_.nearest(position);
    known->second = {.step = value[0], .exchange = value[1]};
  }
  return known->second;
}

PassTime ApplicationProfile::pass(const NodePattern& nodes, int local_batch) const {
  const auto measured = placements_.find(rotated(nodes));
  return measured == placements_.end() ? interpolated(nodes, local_batch)
                                       : between(measured->second, local_batch, mixed);
}

double ApplicationProfile::step_seconds(const NodePattern& nodes, const BatchSplit& split) const {
  const PassTime time = pass(nodes, split.local);
  return time.step + split.accumulation * (time.step - time.exchange);
}

GradientNoise ApplicationProfile::noise(int batch, int epoch) const {
  const auto at = static_cast<std::size_t>(std::clamp(epoch, 0, epochs() - 1));
  std::map<int, GradientNoise> by_batch;
  for (const auto& [measured, curve] : data_.epochs) {
    by_batch[measured] = curve[at].noise;
  }
  return between(by_batch, batch,
                 [](const GradientNoise& left, const GradientNoise& right, double part) {
                   return GradientNoise{.squared = std::lerp(left.squared, right.squared, part),
                                        .variance = std::lerp(left.variance, right.variance, part)};
                 });
}

double ApplicationProfile::gain(int batch, int epoch) const {
  return noise(batch, epoch).gain(static_cast<double>(batch) / limits_.initial);
}

double ApplicationProfile::steps(int batch, int epochs) const {
  const auto [known, is_new] = steps_.try_emplace(batch);
  if (is_new) {
    double sum = 0;
    double before = 0;
    known->second.push_back(0);
    for (int epoch = 0; epoch < this->epochs(); ++epoch) {
      const double reached = progress_[static_cast<std::size_t>(epoch)];
      sum += (reached - before) / gain(batch, epoch);
      before = reached;
      known->second.push_back(sum);
    }
  }
  return known->second[static_cast<std::size_t>(epochs)];
}

int ApplicationProfile::epoch_at(int batch, double done) const {
  int epoch = 0;
  while (epoch + 1 < epochs() && steps(batch, epoch + 1) <= done) {
    ++epoch;
  }
  return epoch;
}

double ApplicationProfile::recorded_steps(int batch, int epoch) const {
  std::map<int, double> by_batch;
  for (const auto& [measured, curve] : data_.epochs) {
    by_batch[measured] = curve[static_cast<std::size_t>(epoch)].steps;
  }
  return between(by_batch, batch, [](double left, double right, double part) {
    return std::lerp(left, right, part);
  });
}

BatchSplit ApplicationProfile::split(int batch, int workers) const {
  BatchLimits limits = limits_;
  limits.max = std::max(limits.max, batch);
  if (!limits_.can_adapt()) {
    limits.initial = batch;                        // Nobody looks for noise, so one pass is enough,
    limits.max = std::numeric_limits<int>::max();  // and nobody knows of a largest batch.
  }
  return split_batch(batch, limits, workers);
}

double ApplicationProfile::speed(const NodePattern& nodes, int batch) const {
  const int workers = std::accumulate(nodes.begin(), nodes.end(), 0);
  if (workers == 0 || batch / workers < limits_.local_min) {
    return 0;
  }
  return 1 / step_seconds(nodes, split(batch, workers));
}

std::vector<SpeedRow> ApplicationProfile::speed_rows(std::string_view model, int batch) const {
  std::vector<SpeedRow> rows;
  const auto add = [&](int workers, Locality span, double speed) {
    if (speed > 0) {
      rows.push_back(SpeedRow{.model = std::string(model),
                              .batch = batch,
                              .gpus = workers,
                              .speed = speed,
                              .span = span});
    }
  };
  for (const int workers : counts_) {
    add(workers, Locality::Node, speed(close_pattern(workers, node_workers_max_), batch));
    if (workers > 1) {
      const int widest = std::min(node_workers_max_, workers - 1);
      const double wide = speed(close_pattern(workers, widest), batch);
      add(workers, Locality::Rack, wide);
      add(workers, Locality::Across, wide);
    }
  }
  return rows;
}

}  // namespace rubato
