#include "rubato/policy/reconstructed/pick_conflict.h"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::reconstructed {
namespace {

TEST(PickConflict, MatchesTheWorkedExample) {
  const std::array<double, 2> least = {1, 1};
  const std::array<double, 2> free_1 = {8, 2};
  const std::array<double, 2> free_2 = {16, 4};
  const std::array<Pick, 2> picks = {
      Pick{.probability = 0.6, .room = room_for(free_1, least)},
      Pick{.probability = 0.5, .room = room_for(free_2, least)},
  };

  const std::vector<double> posterior = posterior_of(picks);

  EXPECT_NEAR(posterior[0], 0.1397, 5e-5);
  EXPECT_NEAR(posterior[1], 0.8603, 5e-5);
  EXPECT_EQ(winner_of(picks), 1U);
}

TEST(PickConflict, AsksForTheScarcestResourceOnly) {
  const std::array<double, 3> free = {8, 2, 0};
  const std::array<double, 3> least = {4, 2, 0};

  EXPECT_EQ(room_for(free, least), 1);
}

TEST(PickConflict, GivesTiesToTheFirst) {
  const std::array<Pick, 2> picks = {Pick{.probability = 0.5, .room = 3},
                                     Pick{.probability = 0.5, .room = 3}};

  EXPECT_EQ(winner_of(picks), 0U);
}

TEST(PickConflict, SurvivesRoomThatWouldOverflow) {
  const std::array<Pick, 2> picks = {Pick{.probability = 0.9, .room = 5000},
                                     Pick{.probability = 0.1, .room = 5001}};

  // 0.9 against 0.1 e.
  EXPECT_NEAR(posterior_of(picks)[1], 0.2320, 5e-5);
}

TEST(PickConflict, IsADistributionThatRisesWithRoomOnRandomPicks) {
  Random random(6);
  for (int i = 0; i < 5000; ++i) {
    std::vector<Pick> picks;
    for (int a = 0; a < 4; ++a) {
      picks.push_back({.probability = random.uniform(0.01, 1), .room = random.uniform(1, 30)});
    }
    const std::vector<double> before = posterior_of(picks);
    picks[2].room += 1;
    const std::vector<double> after = posterior_of(picks);

    ASSERT_NEAR(std::accumulate(before.begin(), before.end(), 0.0), 1, 1e-9);
    ASSERT_GE(after[2], before[2]);
    ASSERT_LE(after[1], before[1]);
  }
}

}  // namespace
}  // namespace rubato::policy::reconstructed
