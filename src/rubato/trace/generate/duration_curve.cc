#include "rubato/trace/generate/duration_curve.h"

#include <cmath>
#include <cstddef>

#include "rubato/base/check.h"

namespace rubato {

double duration_at(std::span<const DurationPoint> curve, double quantile) {
  RUBATO_CHECK(curve.size() >= 2);
  std::size_t i = 1;
  while (i + 1 < curve.size() && curve[i].share < quantile) {
    ++i;
  }
  const DurationPoint& low = curve[i - 1];
  const DurationPoint& high = curve[i];
  const double part = (quantile - low.share) / (high.share - low.share);
  return low.seconds * std::exp(part * std::log(high.seconds / low.seconds));
}

double mean_duration(std::span<const DurationPoint> curve) {
  double mean = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    // The mean of a log-uniform variable over [a, b] is (b - a) / ln(b / a).
    const double ratio = std::log(curve[i].seconds / curve[i - 1].seconds);
    mean +=
        (curve[i].share - curve[i - 1].share) * (curve[i].seconds - curve[i - 1].seconds) / ratio;
  }
  return mean;
}

}  // namespace rubato
