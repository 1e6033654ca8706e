// Agents that join a running platform, are lost and come back.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/agent/agents_world_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const LiveJob& live_job(AgentsWorld& world, JobId id) { return *world.controller().find(id); }

std::string said_of(const PlayedInput& played) {
  std::string text;
  for (const wire::EventRecord& event : played.effects.events) {
    text += event.type() + ": " + event.message() + "\n";
  }
  return text;
}

wire::JournalInput offer(const std::string& agent, const std::string& node, int slots) {
  wire::JournalInput input;
  input.set_agent(agent);
  input.mutable_hello()->set_agent(agent);
  input.mutable_hello()->add_nodes()->set_name(node);
  for (int i = 0; i < slots; ++i) {
    input.mutable_hello()->mutable_nodes(0)->add_slots()->set_index(i);
  }
  return input;
}

TEST(LiveNodes, AnAgentThatJoinsIsGivenJobs) {
  AgentsWorld world(2, 1);
  const JobId first = world.submit(100'000, 0);
  world.run(5);
  ASSERT_THAT(world.whereabouts(first), ElementsAre("a"));

  world.add("b", 4);
  EXPECT_THAT(said_of(world.history().back()), HasSubstr("node.joined: node b with 4 slots"));
  const JobId second = world.submit(100'000, 0);
  world.run(10);

  EXPECT_EQ(world.controller().nodes().nodes_size(), 2);
  EXPECT_EQ(live_job(world, first).workers + live_job(world, second).workers, 6);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(LiveNodes, JobsWithoutAPromiseAreSpreadOverAllAgents) {
  AgentsWorld world(2, 1);
  world.add("b", 4);
  world.add("c", 2);
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(world.submit(100'000, 0));
  }
  world.run(5);

  std::set<std::string> used;
  int workers = 0;
  for (const JobId id : ids) {
    ASSERT_EQ(world.whereabouts(id).size(), 1U) << "job " << id.value;
    used.insert(world.whereabouts(id).front());
    workers += live_job(world, id).workers;
  }
  EXPECT_THAT(used, ElementsAre("a", "b", "c"));
  EXPECT_EQ(workers, 8) << "nothing idles";
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(LiveNodes, APromiseCanRestOnANodeThatJoined) {
  AgentsWorld world(1, 1);
  const JobId too_much = world.submit(600, 40);
  EXPECT_EQ(live_job(world, too_much).state, LiveState::Rejected);

  world.add("b", 4);
  const JobId now_possible = world.submit(600, 40);
  EXPECT_TRUE(live_job(world, now_possible).has_promise());
  world.run(40);

  EXPECT_EQ(live_job(world, now_possible).state, LiveState::Succeeded);
  EXPECT_LE(live_job(world, now_possible).end.at, live_job(world, now_possible).promise.promised);
}

TEST(LiveNodes, JobsOfASilentAgentGoOnElsewhereAndTheirOldCopiesEnd) {
  AgentsWorld world(2, 1);
  world.add("b", 4);
  const JobId id = world.submit(2'000, 0);
  world.run(10);
  ASSERT_THAT(world.whereabouts(id), ElementsAre("b")) << "where there is more room";

  world.cut("b");
  world.run(15);
  EXPECT_THAT(world.whereabouts(id), ElementsAre("a", "b")) << "the old copy knows of nothing";
  EXPECT_GE(live_job(world, id).done, 200) << "it went on from the snapshot";
  world.mend("b");
  world.run(2);
  EXPECT_EQ(world.whereabouts(id).size(), 1U);

  world.run(300);
  EXPECT_EQ(live_job(world, id).state, LiveState::Succeeded);
  EXPECT_THAT(world.whereabouts(id), IsEmpty());
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(LiveNodes, AnAgentThatComesBackInTimeKeepsItsJobs) {
  AgentsWorld world(2, 1);
  world.add("b", 4);
  const JobId id = world.submit(2'000, 0);
  world.run(10);
  const std::uint64_t order = live_job(world, id).order;

  world.cut("b");
  world.run(3);
  world.mend("b");
  world.run(3);

  EXPECT_THAT(world.whereabouts(id), ElementsAre("b"));
  EXPECT_EQ(live_job(world, id).order, order) << "nothing had to be ordered anew";
}

TEST(LiveNodes, DrainedNodesAreLeftForOtherAgents) {
  AgentsWorld world(2, 1);
  world.add("b", 4);
  const JobId id = world.submit(100'000, 0);
  world.run(10);
  ASSERT_THAT(world.whereabouts(id), ElementsAre("b"));
  wire::JournalInput drain;
  drain.mutable_node_request()->set_node("b");
  drain.mutable_node_request()->mutable_request()->set_drain(true);

  world.play(drain);
  const double done = live_job(world, id).done;
  world.run(10);

  EXPECT_THAT(world.whereabouts(id), ElementsAre("a"));
  EXPECT_GE(live_job(world, id).done, done) << "a job that is moved loses nothing";
  drain.mutable_node_request()->mutable_request()->set_drain(false);
  drain.mutable_node_request()->mutable_request()->set_resume(true);
  world.play(drain);
  const JobId other = world.submit(100'000, 0);
  world.run(10);
  EXPECT_EQ(live_job(world, id).workers + live_job(world, other).workers, 6);
}

TEST(LiveNodes, AMaintenanceWindowClosesANodeAndOpensItAgain) {
  AgentsWorld world(2, 1);
  world.add("b", 4);
  const JobId id = world.submit(100'000, 0);
  world.run(10);
  wire::JournalInput plan;
  plan.mutable_node_request()->set_node("b");
  wire::MaintenanceWindow& window =
      *plan.mutable_node_request()->mutable_request()->mutable_maintenance();
  const auto seconds_of = [&](double after) {
    return (world.now() + from_seconds(after)).time_since_epoch().count() / 1'000'000;
  };
  window.mutable_from()->set_seconds(seconds_of(20));
  window.mutable_to()->set_seconds(seconds_of(50));
  world.play(plan);

  world.run(15);
  EXPECT_THAT(world.whereabouts(id), ElementsAre("b")) << "not yet";
  world.run(15);
  EXPECT_THAT(world.whereabouts(id), ElementsAre("a"));
  world.run(35);
  EXPECT_TRUE(world.controller().node_records().at(1).is_up);
  EXPECT_THAT(world.controller().node_records().at(1).maintenance, IsEmpty());
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(LiveNodes, ARebuiltMachineTakesThePlaceOfTheOldOne) {
  AgentsWorld world(2, 1);
  const JobId id = world.submit(100'000, 0);
  world.run(5);
  world.kill_jobs("a");
  world.add("a", 4);
  world.run(10);

  EXPECT_EQ(live_job(world, id).workers, 4);
  ASSERT_EQ(world.controller().node_records().size(), 2U);
  EXPECT_EQ(world.controller().node_records()[1].node.name, "a");
  EXPECT_FALSE(world.controller().node_records()[0].is_up);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(LiveNodes, WhatCannotBeANodeIsNotOne) {
  AgentsWorld world(2, 1);
  const auto answer = [&](const wire::JournalInput& input) {
    world.play(input);
    return said_of(world.history().back());
  };
  EXPECT_THAT(answer(offer("b", "a", 4)), HasSubstr("which is agent a's"));
  EXPECT_THAT(answer(offer("b", "", 4)), HasSubstr("name"));
  EXPECT_THAT(answer(offer("b", std::string(5'000, 'x'), 4)), HasSubstr("name"));
  EXPECT_THAT(answer(offer("b", "b", 0)), HasSubstr("0 slots"));
  EXPECT_THAT(answer(offer("b", "b", 5'000)), HasSubstr("5000 slots"));
  wire::JournalInput gaps = offer("b", "b", 2);
  gaps.mutable_hello()->mutable_nodes(0)->mutable_slots(1)->set_index(-7);
  EXPECT_THAT(answer(gaps), HasSubstr("numbered"));
  EXPECT_EQ(world.controller().node_records().size(), 1U);
}

TEST(LiveNodes, AnAgentCannotSpeakForAnothersJobs) {
  AgentsWorld world(4, 1);
  const JobId id = world.submit(1'000, 0);
  world.run(5);
  const double done = live_job(world, id).done;
  wire::JournalInput lie;
  lie.set_agent("b");
  lie.mutable_report()->set_job("1");
  lie.mutable_report()->set_order(live_job(world, id).order);
  lie.mutable_report()->set_done(999);
  lie.mutable_report()->set_workers(4);
  world.play(lie);
  EXPECT_EQ(live_job(world, id).done, done);
  lie.mutable_ended()->set_job("1");
  lie.mutable_ended()->set_order(live_job(world, id).order);
  lie.mutable_ended()->set_outcome("finished");
  world.play(lie);
  EXPECT_EQ(live_job(world, id).state, LiveState::Running);
}

/// A life with agents that join, fall silent for short and long, and lose their jobs.
void play_agents(AgentsWorld& world, std::uint64_t seed) {
  Random random(seed);
  world.run(2);
  for (int i = 0; i < 20; ++i) {
    const double steps = random.uniform(50, 1200);
    world.submit(steps, random.chance(0.5) ? 10 + steps / 5 : 0);
    world.run(random.exponential(5));
    if (i == 3 || i == 8) {
      world.add(i == 3 ? "b" : "c", static_cast<int>(random.integer(1, 6)));
    }
    if (i > 8 && random.chance(0.4)) {
      const std::string name(1, static_cast<char>('a' + random.integer(0, 2)));
      world.cut(name);
      world.run(random.uniform(1, 15));
      if (random.chance(0.5)) {
        world.kill_jobs(name);
      }
      world.mend(name);
    }
  }
  world.run(1'500);
}

std::string all_of(const Effects& effects) {
  std::string text = effects.commands;
  for (const AgentOrder& order : effects.orders) {
    text += order.agent + order.message.ShortDebugString();
  }
  for (const wire::EventRecord& event : effects.events) {
    text += event.ShortDebugString();
  }
  return text;
}

TEST(LiveNodes, NoJobIsLostNorASlotUsedTwiceWhateverAgentsDo) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    AgentsWorld world(3, seed);
    play_agents(world, seed);
    EXPECT_THAT(world.faults(), IsEmpty()) << "seed " << seed;
    for (const auto& [id, job] : world.controller().jobs()) {
      EXPECT_TRUE(job.state == LiveState::Succeeded || job.state == LiveState::Rejected)
          << "seed " << seed << " job " << id.value << " is " << to_string(job.state);
      EXPECT_THAT(world.whereabouts(id), IsEmpty()) << "seed " << seed << " job " << id.value;
    }
    for (const NodeRecord& node : world.controller().node_records()) {
      EXPECT_TRUE(node.is_up) << "seed " << seed << " node " << node.node.name;
    }
    const wire::NodeList nodes = world.controller().nodes();
    for (const wire::NodeStatus& node : nodes.nodes()) {
      EXPECT_EQ(node.slots_used(), 0) << "seed " << seed << " node " << node.name();
    }
  }
}

TEST(LiveNodes, AGrownPlatformIsTheSameAgainFromItsInputsAndFromACheckpoint) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    AgentsWorld world(3, seed);
    play_agents(world, seed);
    Controller again = Controller::make(world.options()).value();
    std::optional<Controller> loaded;
    for (std::size_t i = 0; i < world.history().size(); ++i) {
      const PlayedInput& played = world.history()[i];
      const std::string effects = all_of(played.effects);
      ASSERT_EQ(all_of(again.on(played.at, played.input)), effects) << "seed " << seed;
      if (loaded) {
        ASSERT_EQ(all_of(loaded->on(played.at, played.input)), effects)
            << "seed " << seed << " input " << i;
      }
      if (i % 100 == 50) {
        const std::string bytes = again.save();
        loaded.emplace(Controller::load(world.options(), bytes).value());
        ASSERT_EQ(loaded->save(), bytes) << "seed " << seed << " input " << i;
      }
    }
  }
}

TEST(LiveNodes, APolicyCanBeSetOnAGrownPlatform) {
  AgentsWorld world(2, 1);
  world.add("b", 4);
  const JobId id = world.submit(1'000, 0);
  world.run(5);
  wire::JournalInput change;
  change.mutable_policy()->set_policy("srtf");
  world.play(change);
  world.add("c", 2);
  world.run(3);

  const std::string bytes = world.controller().save();
  const auto loaded = Controller::load(world.options(), bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->save(), bytes);
  world.run(300);
  EXPECT_EQ(live_job(world, id).state, LiveState::Succeeded);
}

}  // namespace
}  // namespace rubato
