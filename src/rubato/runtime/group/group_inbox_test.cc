#include "rubato/runtime/group/group_inbox.h"

#include <thread>

#include <gtest/gtest.h>

namespace rubato {
namespace {

/// A group that does nothing but remember whether it was broken off.
class IdleGroup final : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] Status reduce(const ReduceRequest& /*request*/, ReduceReport& /*report*/) override {
    return ok_status();
  }
  [[nodiscard]] Status broadcast(std::span<std::byte> /*bytes*/, int /*source*/) override {
    return ok_status();
  }
  void abort() override { is_aborted = true; }

  bool is_aborted = false;
};

/// A generation that was built.
struct BuiltScene {
  std::shared_ptr<IdleGroup> idle = std::make_shared<IdleGroup>();
  BuiltGroup group{};
};

BuiltScene built(std::uint64_t number) {
  BuiltScene scene;
  scene.group = {.number = number, .communicator = scene.idle};
  return scene;
}

GenerationPost post(std::uint64_t number, bool is_forced = false) {
  return {.number = number, .is_forced = is_forced};
}

// An inbox whose worker trains in generation 1.
BuiltScene train_in_first(GroupInbox& inbox) {
  BuiltScene first = built(1);
  inbox.publish(post(1));
  inbox.built(first.group);
  EXPECT_TRUE(inbox.begin_entering(first.group));
  EXPECT_TRUE(inbox.begin_training(first.group));
  return first;
}

TEST(GroupInbox, VotesOnlyForTheNewestGenerationAndOnlyOnceItIsBuilt) {
  GroupInbox inbox;
  const BuiltScene first = train_in_first(inbox);

  inbox.publish(post(2));
  EXPECT_EQ(inbox.votable(), 0U) << "not built yet";
  inbox.built(built(2).group);
  EXPECT_EQ(inbox.votable(), 2U);
  inbox.publish(post(3));
  EXPECT_EQ(inbox.votable(), 0U) << "outdated";
  EXPECT_FALSE(first.idle->is_aborted) << "training goes on meanwhile";
}

TEST(GroupInbox, DropsAGroupThatWasBuiltTooLate) {
  GroupInbox inbox;
  inbox.publish(post(1));
  inbox.publish(post(2));

  inbox.built(built(1).group);

  EXPECT_FALSE(inbox.begin_entering(built(1).group));
  EXPECT_EQ(inbox.votable(), 0U);
}

TEST(GroupInbox, AForcedGenerationBreaksTrainingOff) {
  GroupInbox inbox;
  const BuiltScene first = train_in_first(inbox);

  inbox.publish(post(2, /*is_forced=*/true));

  EXPECT_TRUE(first.idle->is_aborted);
  EXPECT_TRUE(inbox.has_forced_beyond(1));
  EXPECT_FALSE(inbox.has_forced_beyond(2));
}

TEST(GroupInbox, AnyNewerGenerationBreaksEnteringOff) {
  GroupInbox inbox;
  const BuiltScene first = built(1);
  inbox.publish(post(1));
  inbox.built(first.group);
  ASSERT_TRUE(inbox.begin_entering(first.group));

  inbox.publish(post(2));

  EXPECT_TRUE(first.idle->is_aborted);
  EXPECT_TRUE(inbox.begin_training(first.group)) << "if it was entered all the same, it is used";
}

TEST(GroupInbox, AGroupIsNotTrainedInOnceANewerOneWasForced) {
  GroupInbox inbox;
  const BuiltScene first = built(1);
  inbox.publish(post(1));
  inbox.built(first.group);
  ASSERT_TRUE(inbox.begin_entering(first.group));

  inbox.publish(post(2, /*is_forced=*/true));

  EXPECT_FALSE(inbox.begin_training(first.group));
}

TEST(GroupInbox, AGroupThatOthersMayWaitInIsBrokenOffWhenOutdated) {
  GroupInbox inbox;
  const BuiltScene first = train_in_first(inbox);
  const BuiltScene second = built(2);
  inbox.publish(post(2));
  inbox.built(second.group);

  inbox.publish(post(3));

  EXPECT_TRUE(second.idle->is_aborted);
  EXPECT_FALSE(first.idle->is_aborted);
}

TEST(GroupInbox, ArenasOfASkippedGenerationComeWithTheNext) {
  GroupInbox inbox;
  GenerationPost first = post(1);
  first.arenas.push_back(ArenaPost{.worker = 7});
  inbox.publish(std::move(first));
  GenerationPost second = post(2);
  second.arenas.push_back(ArenaPost{.worker = 8});
  inbox.publish(std::move(second));

  const auto taken = inbox.take();

  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->number, 2U);
  ASSERT_EQ(taken->arenas.size(), 2U);
  EXPECT_EQ(taken->arenas[0].worker, 8U);
  EXPECT_EQ(taken->arenas[1].worker, 7U);
}

TEST(GroupInbox, IgnoresGenerationsThatAreNotNewer) {
  GroupInbox inbox;
  inbox.publish(post(2));

  inbox.publish(post(1, /*is_forced=*/true));

  EXPECT_FALSE(inbox.has_forced_beyond(0));
  EXPECT_EQ(inbox.take()->number, 2U);
}

TEST(GroupInbox, AfterABreakOnlyAForcedGenerationEndsTheWait) {
  GroupInbox inbox;
  inbox.publish(post(2));
  inbox.built(built(2).group);
  std::uint64_t entered = 0;
  {
    const std::jthread waiting([&] {
      entered = std::get<BuiltGroup>(inbox.wait(/*newer_than=*/1, /*forced_beyond=*/1)).number;
    });
    inbox.publish(post(3, /*is_forced=*/true));
    inbox.built(built(3).group);
  }

  EXPECT_EQ(entered, 3U);
}

TEST(GroupInbox, TheEndEndsAllWaitsAndStays) {
  GroupInbox inbox;
  const BuiltScene first = train_in_first(inbox);

  inbox.end(InboxEnd::ConductorLost);
  inbox.end(InboxEnd::Exit);

  EXPECT_TRUE(first.idle->is_aborted);
  EXPECT_FALSE(inbox.take().has_value());
  EXPECT_EQ(std::get<InboxEnd>(inbox.wait(1, 0)), InboxEnd::ConductorLost);
  EXPECT_EQ(inbox.ended(), InboxEnd::ConductorLost) << "the first reason counts";
}

}  // namespace
}  // namespace rubato
