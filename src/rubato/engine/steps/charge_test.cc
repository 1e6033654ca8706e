// Pauses under the three accountings.
#include "rubato/engine/steps/charge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr Traits kEveryRound{.artifact_charge = ArtifactCharge::EveryRound};
constexpr Traits kOnStart{.artifact_charge = ArtifactCharge::OnStart};
constexpr Traits kFree{.artifact_charge = ArtifactCharge::Free};

Duration pause_of_first(const Commands& commands) { return runs_of(commands).at(0).pause; }

TEST(ChargeNone, NothingIsPaid) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::None}, kEveryRound);
  engine.arrive(0, job(1, 1000));

  const Commands start = engine.round(0, {{1, 2}});
  const Commands grow = engine.round(1, {{1, 4}});
  const Commands same = engine.round(2, {{1, 4}});

  EXPECT_EQ(pause_of_first(start), Duration{});
  EXPECT_EQ(pause_of_first(grow), Duration{});
  EXPECT_THAT(only<Stall>(same), IsEmpty());
}

TEST(ChargePhysical, OnlyAChangedJobPaysThePriceOfItsModel) {
  World world{.accounting = ResizeCostModel::Physical};
  world.speeds.push_back({.model = "bert", .batch = 1, .gpus = 1, .speed = 1});
  world.speeds.push_back({.model = "bert", .batch = 1, .gpus = 2, .speed = 2});
  ScriptedEngine engine(world, kEveryRound);
  Job bert = job(1, 1000);
  bert.model = "bert";
  engine.arrive(0, bert);

  const Commands start = engine.round(0, {{1, 1}});
  const Commands grow = engine.round(100, {{1, 2}});
  const Commands shrink = engine.round(200, {{1, 1}});
  const Commands same = engine.round(300, {{1, 1}});

  EXPECT_EQ(pause_of_first(start), seconds(3.904));
  EXPECT_EQ(pause_of_first(grow), seconds(3.904));
  EXPECT_EQ(pause_of_first(shrink), seconds(2.611));
  EXPECT_THAT(same, IsEmpty());
  EXPECT_DOUBLE_EQ(engine.job(1).progress.at(at(300)),
                   (100 - 3.904) + 2 * (100 - 3.904) + (100 - 2.611));
}

TEST(ChargeArtifact, ANewSetOfGpusCostsMoreThanAKnownOne) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::Artifact, .slot_seconds = 60},
                        kEveryRound);
  engine.arrive(0, job(1, 1000));

  const Commands start = engine.round(0, {{1, 2}});
  const Commands same = engine.round(100, {{1, 2}});
  const Commands grow = engine.round(200, {{1, 4}});
  const Commands back = engine.round(300, {{1, 2}});

  EXPECT_EQ(pause_of_first(start), seconds(2 + 2 * 2));
  EXPECT_EQ(only<Stall>(same).at(0).pause, seconds(2));
  EXPECT_EQ(pause_of_first(grow), seconds(2 + 2 * 3));
  EXPECT_EQ(pause_of_first(back), seconds(2));
}

TEST(ChargeArtifact, AnotherJobOnTheSameGpusFindsThemKnown) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::Artifact, .slot_seconds = 60},
                        kEveryRound);
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  engine.round(0, {{1, 4}});

  const Commands commands = engine.round(100, {{1, 0}, {2, 4}});

  EXPECT_EQ(pause_of_first(commands), seconds(2));
}

TEST(ChargeArtifact, EveryUnchangedJobStallsAtEveryRound) {
  ScriptedEngine engine(World{.cluster = "1x8", .accounting = ResizeCostModel::Artifact},
                        kEveryRound);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    engine.arrive(0, job(id, 1000));
  }
  engine.round(0, {{1, 2}, {2, 2}});

  const Commands commands = engine.round(100, {{3, 2}});

  EXPECT_THAT(only<Stall>(commands), SizeIs(2));
  EXPECT_THAT(runs_of(commands), SizeIs(1));
}

TEST(ChargeArtifact, WithASlotOfThreeSecondsTheFourthRoundRestartsAndForgetsAfterwards) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::Artifact, .slot_seconds = 3},
                        kEveryRound);
  engine.arrive(0, job(1, 1e6));
  std::vector<double> pauses;
  const auto note = [&](const Commands& commands) {
    for (const Stall& stall : only<Stall>(commands)) {
      pauses.push_back(to_seconds(stall.pause));
    }
    for (const auto& run : runs_of(commands)) {
      pauses.push_back(to_seconds(run.pause));
    }
  };

  note(engine.round(0, {{1, 1}}));    // Round 0: a new set.
  note(engine.round(100, {{1, 1}}));  // Known.
  note(engine.round(200, {{1, 1}}));
  note(engine.round(300, {{1, 2}}));  // Round 3 restarts: a new set pays for that, too.
  note(engine.round(400, {{1, 2}}));  // Round 4: the restart has forgotten it.
  note(engine.round(500, {{1, 2}}));
  note(engine.round(600, {{1, 2}}));  // Round 6 restarts: known until its end.
  note(engine.round(700, {{1, 2}}));

  EXPECT_EQ(pauses, (std::vector<double>{4, 2, 2, 2 + 27 + 4, 6, 2, 2, 6}));
}

TEST(ChargeArtifact, ALargeClusterPaysItsHigherConstants) {
  ScriptedEngine engine(World{.cluster = "32x8", .accounting = ResizeCostModel::Artifact},
                        kEveryRound);
  engine.arrive(0, job(1, 1000));

  const Commands start = engine.round(0, {{1, 1}});

  EXPECT_EQ(pause_of_first(start), seconds(7 + 2));
}

TEST(ChargeArtifact, OnStartChargesStartsAndResumptionsOnly) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::Artifact, .slot_seconds = 60},
                        kOnStart);
  engine.arrive(0, job(1, 1000));

  const Commands start = engine.round(0, {{1, 2}});
  const Commands same = engine.round(100, {{1, 2}});
  const Commands grow = engine.round(200, {{1, 4}});
  engine.round(300, {{1, 0}});
  const Commands resume = engine.round(400, {{1, 4}});

  EXPECT_EQ(pause_of_first(start), seconds(6));
  EXPECT_THAT(same, IsEmpty());
  EXPECT_EQ(pause_of_first(grow), Duration{});
  EXPECT_EQ(pause_of_first(resume), seconds(8));
}

TEST(ChargeArtifact, FreePoliciesPayNothing) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::Artifact}, kFree);
  engine.arrive(0, job(1, 1000));

  const Commands start = engine.round(0, {{1, 2}});
  const Commands same = engine.round(100, {{1, 2}});

  EXPECT_EQ(pause_of_first(start), Duration{});
  EXPECT_THAT(same, IsEmpty());
}

TEST(ChargeArtifact, AStallDelaysTheFinish) {
  ScriptedEngine engine(World{.accounting = ResizeCostModel::Artifact, .slot_seconds = 60},
                        kEveryRound);
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 1}});
  const Instant before = engine.job(1).progress.finish(100);

  engine.round(50, {{1, 1}});

  EXPECT_EQ(before, at(104));
  EXPECT_EQ(engine.job(1).progress.finish(100), at(106));
}

}  // namespace
}  // namespace rubato
