#include "rubato/runtime/worker/handover.h"

#include <vector>

#include <gtest/gtest.h>

#include "rubato/runtime/communicator.h"

namespace rubato {
namespace {

constexpr int kNewcomer = -1;

// The notes of ranks that stand at these steps.
std::vector<double> notes(const std::vector<int>& steps) {
  std::vector<double> all;
  for (const int step : steps) {
    std::vector<double> one(kNoteLength, 0);
    one[kHasState] = step == kNewcomer ? 0 : 1;
    one[kStep] = step == kNewcomer ? 0 : step;
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(Handover, NobodyIsHandedAnythingWhereAllStandAtTheSameStep) {
  const Handover handover = handover_among(notes({7, 7, 7}), std::nullopt);

  EXPECT_FALSE(handover.is_needed);
  EXPECT_FALSE(handover.is_fresh);
}

TEST(Handover, ANewcomerIsHandedTheStateOfTheFirstWhoHasIt) {
  const Handover handover = handover_among(notes({kNewcomer, 7, 7}), std::nullopt);

  EXPECT_TRUE(handover.is_needed);
  EXPECT_EQ(handover.source, 1);
  EXPECT_FALSE(handover.is_careful) << "a newcomer has nothing to lose";
}

TEST(Handover, TheHighestStepWinsAndTheOthersKeepTheirsUntilItHasCome) {
  const Handover handover = handover_among(notes({7, 8, 7}), std::nullopt);

  EXPECT_TRUE(handover.is_needed);
  EXPECT_EQ(handover.source, 1);
  EXPECT_TRUE(handover.is_careful);
}

TEST(Handover, StepZeroOfAWorkerThatTrainsBeatsANewcomer) {
  const Handover handover = handover_among(notes({kNewcomer, 0}), std::nullopt);

  EXPECT_EQ(handover.source, 1);
  EXPECT_FALSE(handover.is_fresh);
}

TEST(Handover, RankZeroBeginsWhereNobodyHasTrained) {
  const Handover handover = handover_among(notes({kNewcomer, kNewcomer}), std::nullopt);

  EXPECT_TRUE(handover.is_fresh);
  EXPECT_TRUE(handover.is_needed);
  EXPECT_EQ(handover.source, 0);
  EXPECT_FALSE(handover_among(notes({kNewcomer}), std::nullopt).is_needed);
}

TEST(Handover, TheSnapshotCountsOnlyWhereNobodyHasComeAsFar) {
  EXPECT_TRUE(handover_among(notes({kNewcomer, kNewcomer}), 20).is_fresh);
  EXPECT_TRUE(handover_among(notes({kNewcomer, 19}), 20).is_fresh);
  EXPECT_FALSE(handover_among(notes({kNewcomer, 20}), 20).is_fresh);
  EXPECT_EQ(handover_among(notes({kNewcomer, 21}), 20).source, 1);
  EXPECT_TRUE(handover_among(notes({kNewcomer, 19}), 20).is_careful);
}

TEST(Handover, WhoStandsAtTheHighestStepMustHaveTheSameParameters) {
  const auto with_hashes = [](std::vector<double> all, const std::vector<double>& hashes) {
    for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
      all[rank * kNoteLength + kHash] = hashes[rank];
    }
    return all;
  };

  EXPECT_TRUE(has_one_state(with_hashes(notes({7, 7, 7}), {5, 5, 5})));
  EXPECT_FALSE(has_one_state(with_hashes(notes({7, 7, 7}), {5, 5, 6})));
  EXPECT_FALSE(has_one_state(with_hashes(notes({kNewcomer, 8, 8}), {1, 5, 6})));
  EXPECT_TRUE(has_one_state(with_hashes(notes({7, 8, kNewcomer}), {1, 2, 3})))
      << "who is behind is handed the newer ones";
  EXPECT_TRUE(has_one_state(with_hashes(notes({kNewcomer, kNewcomer}), {1, 2})));
}

}  // namespace
}  // namespace rubato
