#include "rubato/policy/shockwave/mode_posterior.h"

#include <vector>

#include <gtest/gtest.h>

namespace rubato::policy::shockwave {
namespace {

// 9 and 5 of 14 pseudo-epochs become 6.43 and 3.57 of 10; 4 of the first were seen.
TEST(ModePosterior, MatchesTheWorkedExample) {
  const std::vector<PaceMode> modes = {{.seconds_per_epoch = 100, .seen = 4},
                                       {.seconds_per_epoch = 60}};

  EXPECT_NEAR(expected_seconds_left(modes, 10), 457.143, 1e-3);
}

TEST(ModePosterior, OneModeLeavesNothingToGuess) {
  const std::vector<PaceMode> modes = {{.seconds_per_epoch = 3, .seen = 4}};

  EXPECT_NEAR(expected_seconds_left(modes, 10), 18, 1e-9);
}

TEST(ModePosterior, AJobSeenToItsEndHasNothingLeftInThatMode) {
  const std::vector<PaceMode> modes = {{.seconds_per_epoch = 3, .seen = 10},
                                       {.seconds_per_epoch = 0, .seen = 0}};

  EXPECT_EQ(expected_seconds_left(modes, 10), 0);
}

}  // namespace
}  // namespace rubato::policy::shockwave
