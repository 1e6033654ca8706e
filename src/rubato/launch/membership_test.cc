#include "rubato/launch/membership.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::ElementsAre;

MembershipCommand start(std::uint64_t worker) { return StartWorker{.worker = WorkerId{worker}}; }
MembershipCommand stop(std::uint64_t worker) { return StopWorker{.worker = WorkerId{worker}}; }

MembershipCommand publish(std::uint64_t number, std::vector<WorkerId> members, bool is_forced,
                          bool has_state) {
  return PublishGeneration{.number = number,
                           .is_forced = is_forced,
                           .has_state = has_state,
                           .members = std::move(members)};
}

constexpr WorkerId w1{1};
constexpr WorkerId w2{2};
constexpr WorkerId w3{3};
constexpr WorkerId w4{4};

// A job whose workers 1..n train in generation 1.
Membership training(int workers, MembershipOptions options = {}) {
  Membership membership(options);
  [[maybe_unused]] auto ignored = membership.set_target(workers);
  for (int id = 1; id <= workers; ++id) {
    ignored = membership.on_warm(WorkerId{static_cast<std::uint64_t>(id)});
  }
  for (int id = 1; id <= workers; ++id) {
    ignored = membership.on_entered(WorkerId{static_cast<std::uint64_t>(id)}, 1);
  }
  EXPECT_TRUE(membership.is_settled());
  return membership;
}

TEST(Membership, PublishesTheFirstGenerationWhenAllAreWarm) {
  Membership membership;

  EXPECT_THAT(membership.set_target(2), ElementsAre(start(1), start(2)));
  EXPECT_THAT(membership.on_warm(w2), ElementsAre());
  EXPECT_THAT(membership.on_warm(w1), ElementsAre(publish(1, {w1, w2}, false, false)));
}

TEST(Membership, LetsTheOthersTrainWhileANewcomerWarmsUp) {
  Membership membership = training(2);

  EXPECT_THAT(membership.set_target(3), ElementsAre(start(3)));
  EXPECT_THAT(membership.on_warm(w3), ElementsAre(publish(2, {w1, w2, w3}, false, true)));
}

TEST(Membership, ShrinksByTheYoungestAndKeepsThemWarm) {
  Membership membership = training(3);

  EXPECT_THAT(membership.set_target(1), ElementsAre(publish(2, {w1}, false, true)));
  EXPECT_THAT(membership.on_entered(w1, 2), ElementsAre());
  EXPECT_THAT(membership.on_parked(w2, 2), ElementsAre());
  EXPECT_THAT(membership.on_parked(w3, 2), ElementsAre());
  EXPECT_THAT(membership.set_target(2), ElementsAre(publish(3, {w1, w2}, false, true)))
      << "a parked worker is ready at once";
}

TEST(Membership, EndsParkedWorkersBeyondTheFewItKeeps) {
  Membership membership = training(3, {.parked_max = 1});
  [[maybe_unused]] auto ignored = membership.set_target(1);
  ignored = membership.on_entered(w1, 2);

  EXPECT_THAT(membership.on_parked(w3, 2), ElementsAre());
  EXPECT_THAT(membership.on_parked(w2, 2), ElementsAre(stop(3)));
}

TEST(Membership, ANewerTargetCancelsNewcomersThatAreNotReady) {
  Membership membership = training(1);

  EXPECT_THAT(membership.set_target(4), ElementsAre(start(2), start(3), start(4)));
  EXPECT_THAT(membership.set_target(2), ElementsAre(stop(4), stop(3)));
  EXPECT_THAT(membership.on_warm(w2), ElementsAre(publish(2, {w1, w2}, false, true)));
}

TEST(Membership, ANewerTargetReplacesAGenerationThatNobodyHasEntered) {
  Membership membership = training(2);
  [[maybe_unused]] auto ignored = membership.set_target(3);
  ignored = membership.on_warm(w3);

  EXPECT_THAT(membership.set_target(2), ElementsAre(publish(3, {w1, w2}, false, true)));
}

TEST(Membership, ALostMemberForcesTheOthersOnAndIsReplaced) {
  Membership membership = training(3);

  EXPECT_THAT(membership.on_lost(w2), ElementsAre(publish(2, {w1, w3}, true, true), start(4)));
  EXPECT_THAT(membership.on_warm(w4), ElementsAre()) << "not before the others have met";
  EXPECT_THAT(membership.on_entered(w1, 2), ElementsAre());
  EXPECT_THAT(membership.on_entered(w3, 2), ElementsAre(publish(3, {w1, w3, w4}, false, true)));
}

TEST(Membership, WhoIsToLeaveStaysAfterALossUntilAllHaveMet) {
  Membership membership = training(3);
  [[maybe_unused]] auto ignored = membership.set_target(2);  // Worker 3 is to leave.

  // Worker 3 may be the only one that has committed the last step.
  EXPECT_THAT(membership.on_lost(w1), ElementsAre(publish(3, {w2, w3}, true, true)));
  ignored = membership.on_entered(w2, 3);
  EXPECT_THAT(membership.on_entered(w3, 3), ElementsAre());
}

TEST(Membership, ALostNewcomerDisturbsNobody) {
  Membership membership = training(2);
  [[maybe_unused]] auto ignored = membership.set_target(3);

  EXPECT_THAT(membership.on_lost(w3), ElementsAre(start(4)));
}

TEST(Membership, ALostParkedWorkerDisturbsNobody) {
  Membership membership = training(2);
  [[maybe_unused]] auto ignored = membership.set_target(1);
  ignored = membership.on_entered(w1, 2);
  ignored = membership.on_parked(w2, 2);

  EXPECT_THAT(membership.on_lost(w2), ElementsAre());
}

TEST(Membership, ABrokenGroupIsForcedOnOnce) {
  Membership membership = training(2);

  EXPECT_THAT(membership.on_broken(w1, 1, false), ElementsAre(publish(2, {w1, w2}, true, true)));
  EXPECT_THAT(membership.on_broken(w2, 1, false), ElementsAre()) << "answered already";
  EXPECT_THAT(membership.on_broken(w2, 2, true), ElementsAre(publish(3, {w1, w2}, true, true)));
}

TEST(Membership, LossOfAllResumesFromASnapshotWithWhoeverComes) {
  Membership membership = training(2);

  EXPECT_THAT(membership.on_lost(w1), ElementsAre(publish(2, {w2}, true, true), start(3)));
  EXPECT_THAT(membership.on_lost(w2), ElementsAre(start(4)));
  EXPECT_THAT(membership.on_warm(w3), ElementsAre());
  EXPECT_THAT(membership.on_warm(w4), ElementsAre(publish(3, {w3, w4}, false, false)));
}

TEST(Membership, HurryGoesOnWithWhoeverIsWarm) {
  Membership membership = training(1);
  [[maybe_unused]] auto ignored = membership.set_target(3);
  ignored = membership.on_warm(w3);

  EXPECT_THAT(membership.hurry(), ElementsAre(publish(2, {w1, w3}, false, true)));
}

TEST(Membership, WithoutATargetAllParkTogether) {
  Membership membership = training(2);

  EXPECT_THAT(membership.set_target(0), ElementsAre(publish(2, {}, false, false)));
  EXPECT_THAT(membership.on_parked(w2, 2), ElementsAre());
  EXPECT_FALSE(membership.is_idle()) << "worker 1 may still train";
  EXPECT_THAT(membership.on_parked(w1, 2), ElementsAre());
  EXPECT_TRUE(membership.is_idle());
}

TEST(Membership, ALossWhileAllParkIsMendedBeforeTheyDo) {
  Membership membership = training(2);
  [[maybe_unused]] auto ignored = membership.set_target(0);
  ignored = membership.on_parked(w2, 2);

  EXPECT_THAT(membership.on_lost(w1), ElementsAre(publish(3, {w2}, true, false)));
  EXPECT_THAT(membership.on_entered(w2, 3), ElementsAre(publish(4, {}, false, false)));
}

TEST(Membership, OthersTakeOverFromThoseWhoMustGo) {
  Membership membership = training(2, {.parked_max = 0});

  EXPECT_THAT(membership.set_target(2, {w1}), ElementsAre(start(3)));
  EXPECT_THAT(membership.on_warm(w3), ElementsAre(publish(2, {w2, w3}, false, true)));
  [[maybe_unused]] auto ignored = membership.on_entered(w2, 2);
  ignored = membership.on_entered(w3, 2);
  EXPECT_THAT(membership.on_parked(w1, 2), ElementsAre(stop(1)));
}

TEST(Membership, IfAllMustGoOneStaysUntilTheNewHaveItsState) {
  Membership membership = training(2, {.parked_max = 5});

  EXPECT_THAT(membership.set_target(1, {w1, w2}), ElementsAre(start(3)));
  EXPECT_THAT(membership.on_warm(w3), ElementsAre(publish(2, {w1, w3}, false, true)));
  EXPECT_THAT(membership.on_entered(w1, 2), ElementsAre());
  EXPECT_THAT(membership.on_entered(w3, 2), ElementsAre(publish(3, {w3}, false, true)));
  EXPECT_THAT(membership.on_entered(w3, 3), ElementsAre());
  EXPECT_THAT(membership.on_parked(w1, 3), ElementsAre(stop(1))) << "it must not even wait";
}

}  // namespace
}  // namespace rubato
