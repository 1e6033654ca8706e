#include "rubato/place/pool/gpu_ranges.h"

#include <algorithm>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// The part both ranges have; its count is zero or less if there is none.
GpuRange common(const GpuRange& left, const GpuRange& right) {
  const int first = std::max(left.first, right.first);
  return {.first = first, .count = std::min(end_of(left), end_of(right)) - first};
}

}  // namespace

int total(std::span<const GpuRange> ranges) {
  int gpus = 0;
  for (const GpuRange& range : ranges) {
    gpus += range.count;
  }
  return gpus;
}

int overlap(std::span<const GpuRange> ranges, const GpuRange& window) {
  int gpus = 0;
  for (const GpuRange& range : ranges) {
    gpus += std::max(0, common(range, window).count);
  }
  return gpus;
}

GpuRanges inside(std::span<const GpuRange> ranges, const GpuRange& window) {
  GpuRanges found;
  for (const GpuRange& range : ranges) {
    const GpuRange part = common(range, window);
    if (part.count > 0) {
      found.push_back(part);
    }
  }
  return found;
}

GpuRanges joined(std::span<const GpuRange> left, std::span<const GpuRange> right) {
  GpuRanges all(left.begin(), left.end());
  all.insert(all.end(), right.begin(), right.end());
  std::ranges::sort(all);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    RUBATO_CHECK(all[i].first >= end_of(all[kept]));
    if (all[i].first == end_of(all[kept])) {
      all[kept].count += all[i].count;
    } else {
      all[++kept] = all[i];
    }
  }
  all.resize(all.empty() ? 0 : kept + 1);
  return all;
}

GpuRanges without(std::span<const GpuRange> from, std::span<const GpuRange> taken) {
  GpuRanges left;
  for (const GpuRange& range : from) {
    int first = range.first;
    for (const GpuRange& gone : inside(taken, range)) {
      if (gone.first > first) {
        left.push_back({.first = first, .count = gone.first - first});
      }
      first = end_of(gone);
    }
    if (first < end_of(range)) {
      left.push_back({.first = first, .count = end_of(range) - first});
    }
  }
  return left;
}

}  // namespace rubato
