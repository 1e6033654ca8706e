#include "rubato/policy/artifact/filling.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/artifact/frame_test.h"

namespace rubato::policy::artifact {
namespace {

// One step per second for each GPU.
const std::vector<ScalingPoint> kLinear = {{1, 1.0}, {2, 2.0}, {4, 4.0}};

struct Planned {
  Booking booking{};
  Steps free{};
};

Planned plan(const Demand& demand, Steps free, const Frame& frame = kFrame) {
  Planned planned{.free = std::move(free)};
  FillScratch scratch;
  fill(demand, frame, planned.free, scratch, planned.booking);
  merge(planned.free);
  return planned;
}

TEST(ArtifactFilling, TakesTheSmallestLevelThatIsEnough) {
  const auto [booking, free] = plan({.levels = kLinear, .left = 25, .deadline = 60}, {{0, 4}});

  EXPECT_EQ(booking.steps, (Steps{{0, 1}}));
  EXPECT_EQ(booking.real_end, 25);
  EXPECT_EQ(booking.end, 30);  // Whole slots.
  EXPECT_EQ(free, (Steps{{0, 3}, {30, 4}}));
}

// After months a second is too long a number for a sliver of work to change it.
TEST(ArtifactFilling, ASliverOfWorkStillTakesASecond) {
  constexpr WholeSeconds kLate = 20'000'000;
  const Frame frame{.now = kLate, .slot = 10, .gpus = 4};
  for (const int first : {0, 4}) {
    const auto [booking, free] =
        plan({.levels = kLinear, .left = 1e-9, .deadline = kLate - 60, .first = first},
             {{kLate, 4}}, frame);

    EXPECT_EQ(booking.real_end, kLate + 1) << first;
    EXPECT_EQ(booking.end, kLate + 10) << first;
    EXPECT_EQ(free, (Steps{{kLate, 0}, {kLate + 10, 4}})) << first;
  }
}

TEST(ArtifactFilling, WaitsIfTheLastStretchIsEnough) {
  const auto [booking, free] =
      plan({.levels = kLinear, .left = 25, .deadline = 60}, {{0, 3}, {30, 4}});

  EXPECT_EQ(booking.steps, (Steps{{0, 0}, {30, 1}}));
  EXPECT_EQ(booking.real_end, 55);
  EXPECT_EQ(free, (Steps{{0, 3}, {60, 4}}));
}

TEST(ArtifactFilling, GivesTheStretchBeforeTheLevelBelowThoughTheRestIsEnough) {
  // One GPU until 60 does 60 of 70. Two GPUs from 20 on do 80, which is enough; still the job also
  // gets one GPU before 20 and ends at 45 instead of 55.
  const auto planned = plan({.levels = kLinear, .left = 70, .deadline = 60}, {{0, 3}, {20, 4}});

  EXPECT_EQ(planned.booking.steps, (Steps{{0, 1}, {20, 2}}));
  EXPECT_EQ(planned.booking.real_end, 45);
  EXPECT_EQ(planned.booking.end, 50);
  EXPECT_EQ(planned.free, (Steps{{0, 2}, {50, 4}}));
}

TEST(ArtifactFilling, TheLastSlotCountsOnlyUpToTheDeadline) {
  const Demand demand{.levels = kLinear, .left = 56, .deadline = 55};

  const auto planned = plan(demand, {{0, 4}});

  EXPECT_EQ(planned.booking.steps.front().gpus, 2);  // One GPU would do 55, not 60.
  EXPECT_EQ(planned.booking.real_end, 28);
}

TEST(ArtifactFilling, TakesLessWhereLessIsFree) {
  const auto planned = plan({.levels = kLinear, .left = 70, .deadline = 30}, {{0, 3}, {20, 4}});

  // Level 4: four GPUs from 20 do 40, two of the three free ones before that do 40.
  EXPECT_EQ(planned.booking.steps, (Steps{{0, 2}, {20, 4}}));
  EXPECT_EQ(planned.booking.real_end, 28);
}

TEST(ArtifactFilling, ALateJobTakesAllItCanGet) {
  const auto planned = plan({.levels = kLinear, .left = 100, .deadline = 20}, {{0, 2}, {40, 4}});

  // 40 until the deadline, 40 more until 40, and the last 20 with four GPUs.
  EXPECT_EQ(planned.booking.steps, (Steps{{0, 2}, {20, 2}, {40, 4}}));
  EXPECT_EQ(planned.booking.real_end, 45);
  EXPECT_EQ(planned.booking.end, 50);
  EXPECT_EQ(planned.free, (Steps{{0, 0}, {50, 4}}));
}

TEST(ArtifactFilling, AJobPastItsDeadlineIsPlannedAsWell) {
  const Frame later{.now = 100, .slot = 10, .gpus = 4};

  const auto planned =
      plan({.levels = kLinear, .left = 20, .deadline = 35}, {{100, 1}, {110, 4}}, later);

  EXPECT_EQ(planned.booking.steps, (Steps{{100, 1}, {110, 4}}));
  EXPECT_EQ(planned.booking.real_end, 113);
  EXPECT_EQ(planned.booking.end, 120);
}

TEST(ArtifactFilling, BestEffortRunsOnOneGpuBehindTheLastBreakpoint) {
  const auto planned = plan({.levels = kLinear, .left = 20}, {{0, 3}, {50, 4}});

  EXPECT_EQ(planned.booking.steps, (Steps{{0, 0}, {50, 1}}));
  EXPECT_EQ(planned.booking.real_end, 70);
}

TEST(ArtifactFilling, HoldsTheFirstGpusToTheNextBreakpoint) {
  const auto planned =
      plan({.levels = kLinear, .left = 100, .deadline = 200, .first = 4}, {{0, 4}, {20, 3}});

  // 80 are done by 20; the last 20 need one GPU, as late as the breakpoints allow.
  EXPECT_EQ(planned.booking.steps, (Steps{{0, 4}, {20, 1}}));
  EXPECT_EQ(planned.booking.real_end, 40);
  EXPECT_EQ(planned.free, (Steps{{0, 0}, {20, 2}, {40, 3}}));
}

TEST(ArtifactFilling, EndsWithinTheFirstStretch) {
  const auto planned =
      plan({.levels = kLinear, .left = 30, .deadline = 200, .first = 2}, {{0, 2}, {20, 4}});

  EXPECT_EQ(planned.booking.steps, (Steps{{0, 2}}));
  EXPECT_EQ(planned.booking.real_end, 15);
  EXPECT_EQ(planned.free, (Steps{{0, 0}, {20, 4}}));
}

TEST(ArtifactFilling, WithoutLevelsItNeverEnds) {
  const auto planned = plan({.left = 30, .deadline = 200}, {{0, 2}});

  EXPECT_EQ(planned.booking.steps, (Steps{{0, 0}}));
  EXPECT_EQ(planned.booking.real_end, kForever);
}

// Whatever is free: the booked GPUs do the work by the booked end, and are missing from what is
// free exactly while they are booked.
TEST(ArtifactFilling, BooksWhatItTakesAndTakesWhatItBooks) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    Steps free{{.from = 0, .gpus = static_cast<int>(random.integer(0, 4))}};
    for (WholeSeconds second = 10; second < 100; second += 10) {
      if (random.integer(0, 1) == 0) {
        free.push_back({.from = second, .gpus = static_cast<int>(random.integer(0, 4))});
      }
    }
    free.push_back({.from = 100, .gpus = 4});
    const Demand demand{.levels = kLinear,
                        .left = static_cast<double>(random.integer(1, 200)),
                        .deadline = random.integer(-20, 120)};

    const auto planned = plan(demand, free);

    double work = 0;
    for (WholeSeconds second = 0; second < planned.booking.end + 20; ++second) {
      const int booked = second < planned.booking.end ? value_at(planned.booking.steps, second) : 0;
      work += second < planned.booking.real_end ? booked : 0;
      ASSERT_GE(value_at(planned.free, second), 0) << "seed " << seed;
      ASSERT_EQ(value_at(free, second) - booked, value_at(planned.free, second))
          << "seed " << seed << " second " << second;
    }
    ASSERT_GE(work, demand.left) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::artifact
