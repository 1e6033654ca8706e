#include "rubato/metrics/percentile.h"

#include <cstddef>

#include "rubato/base/check.h"

namespace rubato {

double percentile(std::span<const double> sorted, int percent) {
  RUBATO_CHECK(percent >= 1 && percent <= 100);
  if (sorted.empty()) {
    return 0;
  }
  // In whole numbers, since 0.55 * 100 is more than 55 in floating point.
  const std::size_t rank = (static_cast<std::size_t>(percent) * sorted.size() + 99) / 100;
  return sorted[rank - 1];
}

double mean(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) {
    sum += sample;
  }
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

}  // namespace rubato
