#include "rubato/metrics/confidence.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "rubato/base/check.h"
#include "rubato/metrics/columns.h"
#include "rubato/metrics/percentile.h"

namespace rubato {
namespace {

// Exact to three digits, as in every table of t, for 1 to 30 degrees of freedom.
constexpr std::array<double, 30> kStudentT{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                           2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                           2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                           2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

double student_t(int freedom) {
  RUBATO_CHECK(freedom >= 1);
  const auto index = static_cast<std::size_t>(freedom - 1);
  if (index < kStudentT.size()) {
    return kStudentT[index];
  }
  // Cornish-Fisher expansion around the normal quantile; off by less than 0.0001 from 31 on.
  constexpr double kZ = 1.959964;
  constexpr double kFirst = (kZ * kZ * kZ + kZ) / 4;
  constexpr double kSecond = (5 * kZ * kZ * kZ * kZ * kZ + 16 * kZ * kZ * kZ + 3 * kZ) / 96;
  return kZ + kFirst / freedom + kSecond / freedom / freedom;
}

Interval confidence_interval(std::span<const double> samples) {
  Interval interval{.mean = mean(samples)};
  if (samples.size() < 2) {
    return interval;
  }
  double squares = 0;
  for (const double sample : samples) {
    squares += (sample - interval.mean) * (sample - interval.mean);
  }
  const auto freedom = static_cast<int>(samples.size() - 1);
  const double error = std::sqrt(squares / freedom / static_cast<double>(samples.size()));
  interval.half_width = student_t(freedom) * error;
  return interval;
}

std::vector<Interval> confidence_intervals(std::span<const Summary> seeds) {
  std::vector<Interval> intervals;
  std::vector<double> samples(seeds.size());
  for (const SummaryColumn& column : summary_columns()) {
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      samples[i] = value_of(seeds[i], column);
    }
    intervals.push_back(confidence_interval(samples));
  }
  return intervals;
}

}  // namespace rubato
