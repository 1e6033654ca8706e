#include "rubato/core/progress.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

TEST(Progress, GrowsWithTheSpeed) {
  const Progress progress{.done = 10, .speed = 2, .since = at_seconds(5)};

  EXPECT_DOUBLE_EQ(progress.at(at_seconds(5)), 10);
  EXPECT_DOUBLE_EQ(progress.at(at_seconds(8)), 16);
  EXPECT_DOUBLE_EQ(progress.at(at_seconds(1)), 10);
}

TEST(Progress, StandsStillUntilThePauseIsOver) {
  const Progress progress{.speed = 2, .paused_until = at_seconds(10)};

  EXPECT_DOUBLE_EQ(progress.at(at_seconds(10)), 0);
  EXPECT_DOUBLE_EQ(progress.at(at_seconds(11)), 2);
  EXPECT_EQ(progress.finish(4), at_seconds(12));
}

TEST(Progress, FinishesAtOnceWhenAllIsDoneAndNeverWithoutSpeed) {
  const Progress progress{.done = 10, .since = at_seconds(7)};

  EXPECT_EQ(progress.finish(10), at_seconds(7));
  EXPECT_EQ(progress.finish(11), kNever);
}

TEST(Progress, RoundsTheFinishUpToTheMicrosecond) {
  const Progress progress{.speed = 3};

  EXPECT_EQ(progress.finish(1), Instant{Duration{333'334}});
}

TEST(Progress, NeverFinishesWhatTakesLongerThanTheLongestSpan) {
  const Progress progress{.speed = 1e-300};

  EXPECT_EQ(progress.finish(1), kNever);
}

TEST(Progress, AddsPausesThatOverlap) {
  Progress progress{.speed = 1};
  progress.change(at_seconds(10), 2, from_seconds(5));
  progress.change(at_seconds(12), 4, from_seconds(5));

  EXPECT_DOUBLE_EQ(progress.done, 10);
  EXPECT_EQ(progress.paused_until, at_seconds(20));
  EXPECT_DOUBLE_EQ(progress.at(at_seconds(21)), 14);
}

TEST(Progress, IsNotChangedByLookingAtIt) {
  Progress progress{.speed = 2, .paused_until = at_seconds(3)};
  progress.advance(at_seconds(4));
  progress.advance(at_seconds(4));

  EXPECT_DOUBLE_EQ(progress.done, 2);
  EXPECT_DOUBLE_EQ(progress.at(at_seconds(5)), 4);
}

TEST(Progress, HasDoneAllWorkButForRoundingWhenItFinishes) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Progress progress;
    double seconds = 0;
    for (int i = 0; i < 20; ++i) {
      seconds += random.exponential(100);
      progress.change(at_seconds(seconds), random.chance(0.2) ? 0 : random.uniform(0.01, 50),
                      from_seconds(random.uniform(0, 30)));
    }
    progress.change(at_seconds(seconds + 1), random.uniform(0.01, 50), Duration{});
    const double work = progress.done + random.uniform(0.001, 1e6);
    const Instant finish = progress.finish(work);

    ASSERT_NEAR(std::max(progress.at(finish), work), progress.at(finish), 1e-9 * work);
    ASSERT_LE(progress.at(finish - Duration{2}), work) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
