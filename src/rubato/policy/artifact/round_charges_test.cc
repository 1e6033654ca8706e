#include "rubato/policy/artifact/round_charges.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rubato::policy::artifact {
namespace {

// Rounds restart everything once in `slot` of them.
ResizeCost restarting_every(int slot) {
  return {ResizeCostModel::Artifact, 128, from_seconds(slot)};
}

RoundCharges after_rounds(long rounds) {
  RoundCharges charges;
  for (long i = 0; i < rounds; ++i) {
    charges.held(at_seconds(100.0 * static_cast<double>(i)));
  }
  return charges;
}

TEST(RoundCharges, AreNothingWhereARoundStopsNobody) {
  const ResizeCost costs(ResizeCostModel::Physical, 128, from_seconds(60));
  const RoundCharges charges = after_rounds(60);

  EXPECT_EQ(charges.ordinary(costs), Duration{});
  EXPECT_EQ(charges.coming(costs), Duration{});
  EXPECT_EQ(charges.restarts(costs, 1000), Duration{});
}

TEST(RoundCharges, AreHigherForARestartAndForTheRoundAfterIt) {
  const ResizeCost costs = restarting_every(3);

  EXPECT_EQ(after_rounds(0).coming(costs), from_seconds(2));  // The first round restarts nothing.
  EXPECT_EQ(after_rounds(1).coming(costs), from_seconds(2));
  EXPECT_EQ(after_rounds(2).coming(costs), from_seconds(2));
  EXPECT_GE(after_rounds(3).coming(costs), from_seconds(2 + 27 + 14));
  EXPECT_GE(after_rounds(4).coming(costs), from_seconds(2 + 14));
  EXPECT_EQ(after_rounds(5).coming(costs), from_seconds(2));
}

TEST(RoundCharges, CoverWhatTheEngineWouldChargeForAnyRunOfRounds) {
  // An unchanged job of 64 workers pays for a new group after each restart and at it.
  for (const int between : {1, 2, 3, 7, 60}) {
    const ResizeCost costs = restarting_every(between);
    for (long held = 0; held < 130; ++held) {
      const RoundCharges charges = after_rounds(held);
      Duration paid{};
      Duration planned = charges.coming(costs);
      for (long round = held; round < held + 70; ++round) {
        const bool restarts = round > 0 && round % between == 0;
        const bool forgot = round > 1 && (round - 1) % between == 0;
        paid += costs.artifact(64, !restarts && !forgot, restarts);
        const auto after = static_cast<std::size_t>(round - held);
        planned += after > 0 ? charges.ordinary(costs) : Duration{};
        ASSERT_LE(paid, planned + charges.restarts(costs, after))
            << between << " between restarts, " << held << " held, " << after << " after";
      }
    }
  }
}

TEST(RoundCharges, ExpectRoundsAtThePaceSoFar) {
  const RoundCharges few = after_rounds(2);
  const RoundCharges many = after_rounds(10);

  EXPECT_EQ(few.expected(at_seconds(200), from_seconds(6000), from_seconds(60)), 10);
  EXPECT_EQ(many.expected(at_seconds(1000), from_seconds(6000), from_seconds(60)), 60);
  EXPECT_EQ(many.expected(at_seconds(1000), from_seconds(6000), from_seconds(240)), 25);
}

TEST(RoundCharges, GoOnFromARestoredCount) {
  const RoundCharges held = after_rounds(7);
  RoundCharges restored;

  restored.restore(held.rounds(), held.first());
  restored.held(at_seconds(900));

  EXPECT_EQ(restored.rounds(), 8);
  EXPECT_EQ(restored.first(), at_seconds(0));
}

}  // namespace
}  // namespace rubato::policy::artifact
