#include "rubato/job/emulated_pace.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

using std::chrono::milliseconds;
using PaceMoment = EmulatedPace::Clock::time_point;

/// One worker takes 100 ms for a step, two take 50 ms; a change costs 300 ms.
class EmulatedPaceTest : public ::testing::Test {
 protected:
  static constexpr PaceMoment kBegan{std::chrono::hours(1)};

  static PaceMoment after(int time) { return kBegan + milliseconds(time); }
  // When a step ends that is begun at a time, in milliseconds.
  double due(const EmulatedStep& step, int time) {
    return std::chrono::duration<double, std::milli>(pace_.due(step, after(time)) - kBegan).count();
  }

  EmulatedPace pace_{{{1, 10}, {2, 20}}, milliseconds(300), kBegan};
};

TEST_F(EmulatedPaceTest, AStartCostsAPauseThatIncludesWhatItReallyTook) {
  EXPECT_NEAR(due({.generation = 1, .step = 7}, 120), 400, 0.01);
}

TEST_F(EmulatedPaceTest, TimeThatWasReallyLostIsNotMadeUpFor) {
  EXPECT_NEAR(due({.generation = 1}, 500), 600, 0.01);
  EXPECT_NEAR(due({.generation = 1, .step = 1}, 605), 700, 0.01);
  EXPECT_NEAR(due({.generation = 1, .step = 2}, 900), 1000, 0.01);
}

TEST_F(EmulatedPaceTest, AllWorkersOfAStepEndTogether) {
  EXPECT_NEAR(due({.generation = 1, .workers = 2}, 0), 350, 0.01);
  EXPECT_NEAR(due({.generation = 1, .workers = 2}, 40), 350, 0.01);
}

TEST_F(EmulatedPaceTest, StepsDoNotDriftBecauseWorkersWakeLate) {
  EXPECT_NEAR(due({.generation = 1}, 0), 400, 0.01);
  EXPECT_NEAR(due({.generation = 1, .step = 1}, 407), 500, 0.01);
}

TEST_F(EmulatedPaceTest, AChangeCostsItsPauseFromTheDecisionOn) {
  EXPECT_NEAR(due({.generation = 1}, 0), 400, 0.01);
  EXPECT_NEAR(due({.generation = 1, .step = 1}, 400), 500, 0.01);

  // A step and a half are done then, and will be at 750 ms. That two are done at 500 ms is waited
  // for.
  pace_.ordered(after(450), 2);

  EXPECT_NEAR(due({.generation = 2, .step = 2, .workers = 2}, 500), 825, 0.01);
}

TEST_F(EmulatedPaceTest, WorkersThatGoBeforeOthersComeCostNoPauseOfTheirOwn) {
  EXPECT_NEAR(due({.generation = 1, .workers = 2}, 0), 350, 0.01);
  pace_.ordered(after(350), 2);

  EXPECT_NEAR(due({.generation = 2, .step = 1, .workers = 1}, 360), 460, 0.01);
  // One step was done at 350 ms, another meanwhile; the third is due 100 ms after the pause.
  EXPECT_NEAR(due({.generation = 3, .step = 2, .workers = 2}, 470), 750, 0.01);
}

TEST_F(EmulatedPaceTest, WithoutAnOrderEachSizeGoesOnFromWhereTheJobStands) {
  EXPECT_NEAR(due({.generation = 1}, 0), 400, 0.01);
  for (int i = 1; i <= 10; ++i) {
    const EmulatedStep step{.generation = 2, .step = static_cast<std::uint64_t>(i), .workers = 2};
    EXPECT_NEAR(due(step, 350 + 50 * i), 400 + 50 * i, 0.01);
  }

  EXPECT_NEAR(due({.generation = 3, .step = 11}, 905), 1005, 0.01);
}

TEST_F(EmulatedPaceTest, PausesAddUp) {
  EXPECT_NEAR(due({.generation = 1}, 0), 400, 0.01);
  pace_.ordered(after(400), 2);
  pace_.ordered(after(500), 1);

  EXPECT_NEAR(due({.generation = 2, .step = 1}, 510), 1100, 0.01);
}

TEST_F(EmulatedPaceTest, WhoeverComesFromABrokenGroupHoldsNobodyUp) {
  EXPECT_NEAR(due({.generation = 2, .workers = 2}, 0), 350, 0.01);

  EXPECT_NEAR(due({.generation = 1}, 360), 360, 0.01);
  EXPECT_NEAR(due({.generation = 2, .workers = 2}, 360), 350, 0.01);
}

}  // namespace
}  // namespace rubato
