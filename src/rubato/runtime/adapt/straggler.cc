#include "rubato/runtime/adapt/straggler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rubato/base/check.h"

namespace rubato {
namespace {

bool is_telling(const RankCompute& rank) {
  return rank.samples > 0 && rank.seconds > 0 && std::isfinite(rank.seconds);
}

double speed_of(const RankCompute& rank) {
  return static_cast<double>(rank.samples) / rank.seconds;
}

// The middle value, or the mean of the two in the middle; reorders what it is given.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

std::string straggler_text(const StragglerEvidence& evidence, const StragglerOptions& options) {
  return fmt::format(
      "rank {} computes at {:.2f} of the median speed ({:.1f} samples/s; {} steps seen, limit "
      "{:.2f})",
      evidence.rank, evidence.relative_speed, evidence.median_speed, evidence.steps,
      options.threshold);
}

void StragglerWatch::regroup(std::span<const int> former) {
  before_.swap(ranks_);
  ranks_.assign(former.size(), RankRecord{});
  for (std::size_t i = 0; i < former.size(); ++i) {
    if (former[i] >= 0 && static_cast<std::size_t>(former[i]) < before_.size()) {
      ranks_[i] = before_[static_cast<std::size_t>(former[i])];
    }
  }
  stragglers_.clear();
}

void StragglerWatch::observe(std::span<const RankCompute> step) {
  if (ranks_.empty()) {
    ranks_.resize(step.size());
  }
  RUBATO_CHECK(step.size() == ranks_.size());
  speeds_.clear();
  for (const RankCompute& rank : step) {
    if (is_telling(rank)) {
      speeds_.push_back(speed_of(rank));
    }
  }
  if (speeds_.empty()) {
    return;
  }
  const double usual = median(speeds_);
  stragglers_.clear();
  for (std::size_t i = 0; i < step.size(); ++i) {
    RankRecord& record = ranks_[i];
    if (is_telling(step[i])) {
      record.average += options_.smoothing * (speed_of(step[i]) / usual - record.average);
      ++record.steps;
    }
    const bool is_exempt = i == 0 && options_.exempts_rank0;
    if (record.average < options_.threshold && !is_exempt) {
      stragglers_.push_back({.rank = static_cast<int>(i),
                             .relative_speed = record.average,
                             .median_speed = usual,
                             .steps = record.steps});
    }
  }
}

double StragglerWatch::relative_speed(int rank) const {
  RUBATO_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < ranks_.size());
  return ranks_[static_cast<std::size_t>(rank)].average;
}

}  // namespace rubato
