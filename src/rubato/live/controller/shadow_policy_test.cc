// A policy in the shadow of the live one.
#include "rubato/live/controller/shadow_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/agent/agents_world_test.h"
#include "rubato/live/controller/controller_world_test.h"

namespace rubato {
namespace {

wire::JournalInput shadow_input(const std::string& policy) {
  wire::JournalInput input;
  input.mutable_policy()->set_policy(policy);
  input.mutable_policy()->set_is_shadow(true);
  return input;
}

// Jobs whose deadlines make policies differ.
void play_shadowed(ControllerWorld& world, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 25; ++i) {
    const double steps = random.uniform(100, 1500);
    world.submit(steps, random.chance(0.7) ? 5 + steps / 20 * random.uniform(0.5, 3) : 0);
    world.run(random.exponential(5));
  }
  world.run(1500);
}

TEST(ShadowPolicy, OfTheSamePolicyDoesWhatTheLiveOneDoes) {
  int differ = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ControllerWorld world(2, 4, seed);
    world.play(shadow_input("elasticflow"));
    play_shadowed(world, seed);

    const wire::PolicyStatus status = world.controller().policy_status();
    EXPECT_EQ(status.shadow(), "elasticflow");
    EXPECT_EQ(status.answers(), 25) << "seed " << seed;
    differ += status.answers_differ();
    EXPECT_EQ(status.live_result().promises_broken(), 0) << "seed " << seed;
    EXPECT_EQ(status.shadow_result().finished() + status.shadow_result().refused(), 25);
    EXPECT_EQ(status.shadow_result().promises_broken(), 0) << "seed " << seed;
    EXPECT_GT(status.shadow_result().promises_made(), 0) << "seed " << seed;
    EXPECT_NEAR(status.shadow_result().mean_jct_seconds() / status.live_result().mean_jct_seconds(),
                1, 0.25)
        << "seed " << seed;
  }
  // Of 125. Real steps are not quite as long as those of the shadow: a verdict on the edge may
  // differ, and then some of those that follow from it.
  EXPECT_LE(differ, 4);
}

TEST(ShadowPolicy, OfAnotherPolicyChangesNothingLive) {
  ControllerWorld alone(2, 4, 3);
  play_shadowed(alone, 3);
  ControllerWorld shadowed(2, 4, 3);
  shadowed.play(shadow_input("fifo"));
  play_shadowed(shadowed, 3);

  const wire::PolicyStatus status = shadowed.controller().policy_status();
  EXPECT_EQ(status.live(), "elasticflow");
  EXPECT_EQ(status.shadow_result().refused(), 0) << "fifo refuses nobody";
  EXPECT_EQ(status.shadow_result().promises_made(), 0) << "nor promises anything";
  EXPECT_EQ(status.shadow_result().finished(), 25);
  EXPECT_LT(status.shadow_result().deadlines_met(), status.live_result().deadlines_met());
  EXPECT_GT(status.shadow_result().gpu_utilization(), 0);
  EXPECT_LE(status.shadow_result().gpu_utilization(), 1);
  for (const auto& [id, job] : alone.controller().jobs()) {
    const LiveJob* other = shadowed.controller().find(id);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->state, job.state);
    EXPECT_EQ(other->promise.promised, job.promise.promised);
  }
}

TEST(ShadowPolicy, BeginsWithTheJobsThatAreThereAndEndsWhenTold) {
  ControllerWorld world(1, 4, 1);
  world.submit(2'000, 0);
  world.submit(100'000, 0, /*is_speed_known=*/false);
  world.run(2);
  world.play(shadow_input("edf"));
  EXPECT_EQ(world.controller().policy_status().shadow_result().jobs(), 1)
      << "the other is measured first";
  world.run(60);
  EXPECT_EQ(world.controller().policy_status().shadow_result().jobs(), 2);
  wire::JournalInput cancel;
  cancel.mutable_cancelled()->set_job(2);
  world.play(cancel);
  world.run(300);
  EXPECT_EQ(world.controller().policy_status().shadow_result().jobs(), 1);
  EXPECT_EQ(world.controller().policy_status().shadow_result().finished(), 1);

  world.play(shadow_input("none"));
  EXPECT_EQ(world.controller().policy_status().shadow(), "");
}

TEST(ShadowPolicy, SeesNodesComeAndGo) {
  AgentsWorld world(2, 1);
  world.play(shadow_input("srtf"));
  const JobId id = world.submit(3'000, 0);
  world.run(5);
  world.add("b", 4);
  world.cut("a");
  world.run(20);
  world.mend("a");
  world.run(600);
  EXPECT_EQ(world.controller().find(id)->state, LiveState::Succeeded);
  EXPECT_EQ(world.controller().policy_status().shadow_result().finished(), 1);
}

TEST(ShadowPolicy, GoesOnFromACheckpointAsIfNothingHadHappened) {
  for (const char* policy : {"edf", "tiresias", "pollux", "elasticflow"}) {
    ControllerWorld world(2, 4, 11);
    world.submit(900, 0);
    world.play(shadow_input(policy));
    play_shadowed(world, 11);
    Controller first = Controller::make(world.options()).value();
    std::optional<Controller> second;
    for (std::size_t i = 0; i < world.history().size(); ++i) {
      const PlayedInput& played = world.history()[i];
      (void)first.on(played.at, played.input);
      if (second) {
        (void)second->on(played.at, played.input);
        ASSERT_EQ(second->wake(), first.wake()) << policy << " input " << i;
      }
      if (i % 97 == 40) {
        const std::string bytes = first.save();
        auto loaded = Controller::load(world.options(), bytes);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        ASSERT_EQ(loaded->save(), bytes) << policy << " input " << i;
        second.emplace(*std::move(loaded));
      }
    }
    EXPECT_EQ(second->policy_status().SerializeAsString(),
              first.policy_status().SerializeAsString());
    EXPECT_EQ(first.policy_status().SerializeAsString(),
              world.controller().policy_status().SerializeAsString());
  }
}

TEST(ShadowPolicy, DoesAFewEventsATurnAndCatchesUpLater) {
  const Topology topology = Topology::parse("1x4").value();
  ShadowPolicy shadow(
      "fifo",
      Engine::make(topology, SpeedBook({}, topology), "fifo", {.slot = std::chrono::seconds(1)})
          .value(),
      at_seconds(0));
  for (std::uint64_t id = 1; id <= 100; ++id) {
    Job job{.job_class = JobClass::BestEffort, .work = 10};
    job.speeds = {{.workers = 1, .speed = 10}};
    shadow.arrive(at_seconds(1), JobId{id}, job, at_seconds(1), kNever);
  }

  shadow.advance(at_seconds(1));
  EXPECT_EQ(shadow.engine().state().jobs.size(), std::size_t{ShadowPolicy::kEventsPerTurn});
  EXPECT_EQ(shadow.next(), at_seconds(1)) << "there is more to do";
  int turns = 1;
  while (shadow.next() <= at_seconds(1000)) {
    shadow.advance(at_seconds(1000));
    ASSERT_LT(++turns, 1000);
  }
  EXPECT_EQ(shadow.tally().finished, 100);
}

TEST(ShadowPolicy, GivesUpRatherThanGrowWithoutEnd) {
  const Topology topology = Topology::parse("1x4").value();
  ShadowPolicy shadow("fifo", Engine::make(topology, SpeedBook({}, topology), "fifo", {}).value(),
                      at_seconds(0));
  for (std::size_t i = 0; i <= ShadowPolicy::kPendingMax; ++i) {
    shadow.change_node(at_seconds(1), {.node = NodeId{0}, .up = i % 2 == 0});
  }
  EXPECT_TRUE(shadow.is_lost());
  EXPECT_EQ(shadow.next(), kNever);
}

}  // namespace
}  // namespace rubato
