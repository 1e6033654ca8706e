#include "rubato/runtime/adapt/scaling_measurement.h"

#include <cmath>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

TEST(ScalingMeasurement, VisitsCountsThatTileNodes) {
  EXPECT_THAT(shrinking_counts(12, 4), testing::ElementsAre(12, 8, 4, 2, 1));
  EXPECT_THAT(shrinking_counts(7, 8), testing::ElementsAre(4, 2, 1));
  EXPECT_THAT(shrinking_counts(3, 1), testing::ElementsAre(3, 2, 1));
}

TEST(ScalingMeasurement, ShrinksWhenAPointHasItsSteps) {
  ScalingMeasurement measurement({.workers = {4, 2}, .steps_per_point = 2});

  EXPECT_EQ(measurement.workers_wanted(), 4);
  EXPECT_FALSE(measurement.on_step(4, 100));  // The first step is not counted.
  EXPECT_FALSE(measurement.on_step(4, 1));
  EXPECT_TRUE(measurement.on_step(4, 3));
  EXPECT_EQ(measurement.workers_wanted(), 2);
  EXPECT_FALSE(measurement.on_step(4, 50));  // The shrink is still under way.
  EXPECT_FALSE(measurement.on_step(2, 100));
  EXPECT_FALSE(measurement.on_step(2, 4));
  EXPECT_TRUE(measurement.on_step(2, 6));

  EXPECT_TRUE(measurement.is_done());
  ASSERT_EQ(measurement.measured().size(), 2U);
  EXPECT_DOUBLE_EQ(measurement.measured()[0].step_seconds, 2);
  EXPECT_DOUBLE_EQ(measurement.measured()[1].steps_per_second(), 0.2);
  EXPECT_EQ(measurement.workers_wanted(), 2);
  EXPECT_FALSE(measurement.on_step(2, 6));
}

TEST(ScalingMeasurement, GivesUpPointsThatWorkersWereLostFor) {
  ScalingMeasurement measurement({.workers = {8, 4, 2}, .steps_per_point = 1});
  EXPECT_FALSE(measurement.on_step(8, 1));

  EXPECT_TRUE(measurement.on_step(3, 1));  // Two points lie above three workers.
  EXPECT_EQ(measurement.workers_wanted(), 2);
  EXPECT_FALSE(measurement.on_step(2, 1));
  EXPECT_TRUE(measurement.on_step(2, 1));

  EXPECT_THAT(measurement.missed(), testing::ElementsAre(8, 4));
  ASSERT_EQ(measurement.measured().size(), 1U);
  EXPECT_EQ(measurement.measured()[0].workers, 2);
}

TEST(ScalingMeasurement, EndsEvenIfTheJobFallsBelowAllPoints) {
  ScalingMeasurement measurement({.workers = {4, 2}});

  EXPECT_TRUE(measurement.on_step(1, 1));

  EXPECT_TRUE(measurement.is_done());
  EXPECT_THAT(measurement.missed(), testing::ElementsAre(4, 2));
}

// A job whose steps take compute / k + exchange (k - 1) / k, jitter, five-fold after a resize, and
// whose resizes come through some steps after they are asked for.
struct ModelledJob {
  double compute = 1;
  double exchange = 0.1;
  Random random;

  [[nodiscard]] double seconds(int workers) const {
    return compute / workers + exchange * (workers - 1) / workers;
  }
};

RC_GTEST_PROP(ScalingMeasurement, RecoversTheSpeedsOfAModelledJob, (std::uint64_t seed)) {
  ModelledJob job{.random = Random(seed)};
  job.exchange = job.random.uniform(0.01, 0.5);
  ScalingMeasurement measurement({.workers = shrinking_counts(16, 4), .steps_per_point = 40});

  int workers = 16;
  bool is_fresh = true;
  std::int64_t delay = 0;
  for (int step = 0; step < 2000 && !measurement.is_done(); ++step) {
    const double jitter = job.random.uniform(0.9, 1.1);
    const double seconds = job.seconds(workers) * jitter * (is_fresh ? 5 : 1);
    is_fresh = false;
    if (measurement.on_step(workers, seconds)) {
      delay = job.random.integer(0, 5);
    }
    if (measurement.workers_wanted() < workers && delay-- == 0) {
      workers = measurement.workers_wanted();
      is_fresh = true;
    }
  }

  RC_ASSERT(measurement.is_done());
  RC_ASSERT(measurement.measured().size() == 6U);
  for (const WorkerSpeed& point : measurement.measured()) {
    RC_ASSERT(std::abs(point.step_seconds / job.seconds(point.workers) - 1) < 0.05);
  }
}

}  // namespace
}  // namespace rubato
