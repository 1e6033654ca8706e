#include "rubato/trace/generate/duration_curve.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "rubato/trace/generate/profiles.h"

namespace rubato {
namespace {

constexpr std::array kCurve{DurationPoint{0, 10}, DurationPoint{0.5, 1000},
                            DurationPoint{1, 10000}};

TEST(DurationCurve, PassesThroughItsPointsAndIsLogarithmicBetween) {
  EXPECT_DOUBLE_EQ(duration_at(kCurve, 0), 10);
  EXPECT_DOUBLE_EQ(duration_at(kCurve, 0.25), 100);
  EXPECT_DOUBLE_EQ(duration_at(kCurve, 0.5), 1000);
  EXPECT_NEAR(duration_at(kCurve, 0.75), 3162.28, 0.01);
  EXPECT_DOUBLE_EQ(duration_at(kCurve, 1), 10000);
}

TEST(DurationCurve, TheMeanIsThatOfTheQuantiles) {
  double sum = 0;
  constexpr int kSteps = 100'000;
  for (int i = 0; i < kSteps; ++i) {
    sum += duration_at(kCurve, (i + 0.5) / kSteps);
  }

  EXPECT_NEAR(mean_duration(kCurve), sum / kSteps, 0.01);
}

TEST(Profiles, AreDistributions) {
  for (const Profile& profile : generator_profiles()) {
    double shares = 0;
    for (const SizeShare& size : profile.sizes) {
      shares += size.share;
      EXPECT_DOUBLE_EQ(size.durations.front().share, 0) << profile.name;
      EXPECT_DOUBLE_EQ(size.durations.back().share, 1) << profile.name;
      for (std::size_t i = 1; i < size.durations.size(); ++i) {
        EXPECT_LT(size.durations[i - 1].share, size.durations[i].share) << profile.name;
        EXPECT_LT(size.durations[i - 1].seconds, size.durations[i].seconds) << profile.name;
      }
    }
    EXPECT_NEAR(shares, 1, 1e-9) << profile.name;
  }
}

// Mean GPUs and mean run time of a profile.
std::pair<double, double> means(const Profile& profile) {
  std::pair<double, double> sums{0, 0};
  for (const SizeShare& size : profile.sizes) {
    sums.first += size.share * size.gpus;
    sums.second += size.share * mean_duration(size.durations);
  }
  return sums;
}

TEST(Profiles, HaveTheMeansOfTheirSources) {
  EXPECT_NEAR(means(*find_profile("helios")).first, 3.72, 0.01);
  EXPECT_NEAR(means(*find_profile("helios")).second, 6652, 100);
  EXPECT_NEAR(means(*find_profile("philly")).second, 13136, 1500);
  EXPECT_NEAR(means(*find_profile("elasticflow")).first, 0.83 + 0.06 + 0.12 + 0.8 + 0.16, 1e-9);
  EXPECT_EQ(find_profile("venus"), nullptr);
}

}  // namespace
}  // namespace rubato
