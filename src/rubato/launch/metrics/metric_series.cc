#include "rubato/launch/metrics/metric_series.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace rubato::launch::metrics {
namespace {

constexpr std::size_t kPointsLeast = 8;  // Fewer could not hold what is never dropped.

// True if `one` is lower than `other`; NaN is neither low nor high.
bool is_lower(double one, double other) {
  return !std::isnan(one) && (std::isnan(other) || one < other);
}

// Positions of the lowest and the highest of values from `first` to `last`.
template <typename Get>
std::pair<std::size_t, std::size_t> extremes(std::size_t first, std::size_t last, Get get) {
  std::size_t low = first;
  std::size_t high = first;
  for (std::size_t i = first; i < last; ++i) {
    if (is_lower(get(i), get(low))) {
      low = i;
    }
    if (is_lower(-get(i), -get(high))) {
      high = i;
    }
  }
  return {low, high};
}

}  // namespace

PointSeries::PointSeries(std::size_t points_max)
    : points_max_(std::max(points_max, kPointsLeast)) {}

bool PointSeries::add(const MetricPoint& point) {
  auto at = kept_.end();
  if (!kept_.empty() && kept_.back().point.sequence >= point.sequence) {
    at = std::ranges::lower_bound(kept_, point.sequence, {},
                                  [](const Kept& each) { return each.point.sequence; });
    if (at->point.sequence == point.sequence) {
      return false;
    }
  }
  kept_.insert(at, {.point = point, .index = count_});
  ++count_;
  if (kept_.size() > points_max_) {
    thin();
  }
  return true;
}

void PointSeries::thin() {
  drop_between(stride_);
  while (kept_.size() > points_max_ * 3 / 4) {
    stride_ *= 2;
    drop_between(stride_);
    if (stride_ > count_) {
      break;
    }
  }
}

void PointSeries::drop_between(std::uint64_t stride) {
  const auto [low, high] =
      extremes(0, kept_.size(), [this](std::size_t i) { return kept_[i].point.value; });
  std::vector<Kept> left;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool is_needed = i == 0 || i + 1 == kept_.size() || i == low || i == high;
    if (is_needed || kept_[i].index % stride == 0) {
      left.push_back(kept_[i]);
    }
  }
  kept_ = std::move(left);
}

std::vector<MetricPoint> PointSeries::points() const {
  std::vector<MetricPoint> all;
  all.reserve(kept_.size());
  for (const Kept& each : kept_) {
    all.push_back(each.point);
  }
  return all;
}

bool MetricSeries::add(const Metric& metric, std::uint64_t sequence) {
  auto found = names_.find(metric.name);
  if (found == names_.end()) {
    if (metric.name.empty()) {
      return false;
    }
    if (names_.size() >= kNamesMax) {
      ++dropped_;
      return false;
    }
    found = names_.emplace(metric.name, PointSeries(points_max_)).first;
  }
  last_sequence_ = std::max(last_sequence_, sequence);
  return found->second.add({.sequence = sequence, .step = metric.step, .value = metric.value});
}

std::size_t MetricSeries::size() const {
  std::size_t sum = 0;
  for (const auto& [name, series] : names_) {
    sum += series.size();
  }
  return sum;
}

std::uint64_t MetricSeries::visit_after(
    std::uint64_t sequence, std::size_t points_max,
    const std::function<void(const std::string& name, const MetricPoint& point)>& visit) const {
  std::vector<std::tuple<std::uint64_t, const std::string*, MetricPoint>> found;
  for (const auto& [name, series] : names_) {
    for (const MetricPoint& point : series.points()) {
      if (point.sequence > sequence) {
        found.emplace_back(point.sequence, &name, point);
      }
    }
  }
  const std::size_t count = std::min(found.size(), points_max);
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [](const auto& each) { return std::get<0>(each); });
  for (std::size_t i = 0; i < count; ++i) {
    visit(*std::get<1>(found[i]), std::get<2>(found[i]));
    sequence = std::get<0>(found[i]);
  }
  return sequence;
}

std::vector<MetricPoint> points_by_step(std::vector<MetricPoint> points, std::size_t points_max) {
  std::ranges::sort(points, [](const MetricPoint& one, const MetricPoint& other) {
    return std::tie(one.step, one.sequence) < std::tie(other.step, other.sequence);
  });
  std::vector<MetricPoint> all;
  for (const MetricPoint& point : points) {
    if (!all.empty() && all.back().step == point.step) {
      all.back() = point;
    } else {
      all.push_back(point);
    }
  }
  if (all.size() <= points_max) {
    return all;
  }
  // The lowest and the highest of each of equally many neighbours, and both ends.
  const std::size_t groups = points_max < 4 ? 0 : (points_max - 2) / 2;
  std::vector<MetricPoint> chosen{all.front()};
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t first = 1 + group * (all.size() - 2) / groups;
    const std::size_t last = 1 + (group + 1) * (all.size() - 2) / groups;
    auto [low, high] = extremes(first, last, [&](std::size_t i) { return all[i].value; });
    chosen.push_back(all[std::min(low, high)]);
    if (low != high) {
      chosen.push_back(all[std::max(low, high)]);
    }
  }
  if (points_max > 1) {
    chosen.push_back(all.back());
  } else {
    chosen = {all.back()};
  }
  return chosen;
}

}  // namespace rubato::launch::metrics
