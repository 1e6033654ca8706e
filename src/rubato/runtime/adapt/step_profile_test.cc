#include "rubato/runtime/adapt/step_profile.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

constexpr StepShape kTwo{.workers = 2, .nodes = 1, .batch = 64};
constexpr StepShape kFour{.workers = 4, .nodes = 2, .batch = 64};

TEST(StepProfile, LeavesOutTheFirstStepAfterEachChange) {
  StepProfile profile;
  profile.add(kTwo, {.total = 9});
  profile.add(kTwo, {.total = 0.5});
  profile.add(kFour, {.total = 9});
  profile.add(kFour, {.total = 0.25});
  profile.add(kTwo, {.total = 9});
  profile.add(kTwo, {.total = 0.3});
  profile.changed();
  profile.add(kTwo, {.total = 9});
  profile.add(kTwo, {.total = 0.4});

  ASSERT_NE(profile.find(kTwo), nullptr);
  EXPECT_EQ(profile.find(kTwo)->steps, 3U);
  EXPECT_DOUBLE_EQ(profile.find(kTwo)->mean.total, 0.4);
  EXPECT_DOUBLE_EQ(profile.find(kTwo)->samples_per_second(), 160);
  EXPECT_DOUBLE_EQ(profile.find(kFour)->steps_per_second(), 4);
  EXPECT_EQ(profile.shapes().size(), 2U);
}

TEST(StepProfile, KnowsNothingOfShapesItHasNotSeenTwice) {
  StepProfile profile;
  profile.add(kTwo, {.total = 1});

  EXPECT_EQ(profile.find(kTwo), nullptr);
  EXPECT_TRUE(profile.shapes().empty());
}

TEST(StepProfile, SplitsTheTimeOfAStep) {
  StepProfile profile;
  for (int i = 0; i < 3; ++i) {
    profile.add(kTwo, {.total = 1, .compute = 0.5, .communication = 0.25, .data_wait = 0.125});
  }

  EXPECT_DOUBLE_EQ(profile.find(kTwo)->mean.compute, 0.5);
  EXPECT_DOUBLE_EQ(profile.find(kTwo)->mean.communication, 0.25);
  EXPECT_DOUBLE_EQ(profile.find(kTwo)->mean.data_wait, 0.125);
}

TEST(StepProfile, IgnoresTimesThatCannotBe) {
  StepProfile profile;
  profile.add(kTwo, {.total = 1});
  profile.add(kTwo, {.total = 0});
  profile.add(kTwo, {.total = -1});
  profile.add(kTwo, {.total = std::numeric_limits<double>::quiet_NaN()});
  profile.add(kTwo, {.total = std::numeric_limits<double>::infinity()});

  EXPECT_EQ(profile.find(kTwo), nullptr);
}

RC_GTEST_PROP(StepProfile, HasTheMeanOfTheStepsItCounted, (std::uint64_t seed)) {
  Random random(seed);
  StepProfile profile;
  double sum = 0;
  double steps = 0;
  profile.add(kTwo, {.total = 1e6});
  for (auto left = random.integer(1, 3000); left > 0; --left) {
    const double seconds = random.lognormal(-3, 1);
    profile.add(kTwo, {.total = seconds});
    sum += seconds;
    steps += 1;
  }

  RC_ASSERT(std::abs(profile.find(kTwo)->mean.total / (sum / steps) - 1) < 1e-9);
}

}  // namespace
}  // namespace rubato
