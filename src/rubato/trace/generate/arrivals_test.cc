#include "rubato/trace/generate/arrivals.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

std::vector<double> draw(ArrivalKind kind, double mean_gap, int count) {
  Arrivals arrivals(kind, mean_gap, Random(1));
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    times.push_back(arrivals.next());
  }
  return times;
}

TEST(Arrivals, RiseAndKeepTheirMeanGap) {
  for (const auto kind : {ArrivalKind::Poisson, ArrivalKind::Diurnal, ArrivalKind::Bursty}) {
    const std::vector<double> times = draw(kind, 60, 200'000);

    EXPECT_TRUE(std::ranges::is_sorted(times)) << to_string(kind);
    EXPECT_NEAR(times.back() / 200'000, 60, 2) << to_string(kind);
  }
}

// Variance over mean of the number of arrivals in windows of 50 mean gaps; one for Poisson.
double dispersion(ArrivalKind kind) {
  const std::vector<double> times = draw(kind, 60, 200'000);
  std::vector<double> counts(static_cast<std::size_t>(times.back() / 3000) + 1);
  for (const double time : times) {
    ++counts[static_cast<std::size_t>(time / 3000)];
  }
  const double mean = 200'000.0 / static_cast<double>(counts.size());
  double squares = 0;
  for (const double count : counts) {
    squares += (count - mean) * (count - mean);
  }
  return squares / static_cast<double>(counts.size()) / mean;
}

TEST(Arrivals, PoissonIsEvenAndBurstsAreNot) {
  EXPECT_NEAR(dispersion(ArrivalKind::Poisson), 1, 0.1);
  EXPECT_GT(dispersion(ArrivalKind::Bursty), 10);
}

TEST(Arrivals, DiurnalOnesPeakInTheAfternoon) {
  int afternoon = 0;
  int night = 0;
  for (const double time : draw(ArrivalKind::Diurnal, 60, 100'000)) {
    const double hour = std::fmod(time, 86400) / 3600;
    afternoon += hour >= 14 && hour < 16 ? 1 : 0;
    night += hour >= 2 && hour < 4 ? 1 : 0;
  }

  EXPECT_NEAR(static_cast<double>(afternoon) / night, 1.7 / 0.3, 0.6);
}

TEST(Arrivals, NamesReadBack) {
  for (const auto kind : {ArrivalKind::Poisson, ArrivalKind::Diurnal, ArrivalKind::Bursty}) {
    EXPECT_EQ(parse_arrivals(to_string(kind)), kind);
  }
  EXPECT_FALSE(parse_arrivals("even"));
}

}  // namespace
}  // namespace rubato
