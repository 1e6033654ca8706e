#include "rubato/policy/optimus/optimus.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::optimus {
namespace {

Scene optimus_scene(SceneOptions options) {
  return Scene([] { return make_optimus(PolicyOptions{}); }, std::move(options));
}

// Speeds 1, 1.8, 1.7 and 3 on one to four GPUs: worse with three than with two.
std::vector<SpeedRow> with_a_dent() {
  std::vector<SpeedRow> rows;
  const std::vector<double> speeds = {1, 1.8, 1.7, 3};
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    rows.push_back(SpeedRow{
        .model = "linear", .batch = 1, .gpus = static_cast<int>(i) + 1, .speed = speeds[i]});
  }
  return rows;
}

TEST(Optimus, GivesTheLongerJobMore) {
  Scene world = optimus_scene({.cluster = "1x4"});
  world.submit(linear_job(1, 0, 1, 100));
  world.submit(linear_job(2, 0, 1, 900));

  world.run_until(0);

  // From one GPU each: 450, 150, then 50 against 75 seconds saved.
  EXPECT_EQ(world.share(1), 1);
  EXPECT_EQ(world.share(2), 3);
}

TEST(Optimus, GivesOneGpuEachInOrderOfArrivalFirst) {
  Scene world = optimus_scene({.cluster = "1x2"});
  world.submit(linear_job(1, 0, 1, 100));
  world.submit(linear_job(2, 0, 1, 100));
  world.submit(linear_job(3, 0, 1, 900));

  world.run_until(0);

  EXPECT_EQ(world.share(1), 1);
  EXPECT_EQ(world.share(2), 1);
  EXPECT_EQ(world.share(3), 0);
}

TEST(Optimus, StopsAtTheFirstGpuThatDoesNotHelp) {
  Scene world = optimus_scene({.cluster = "1x4", .speeds = with_a_dent()});
  world.submit(linear_job(1, 0, 1, 100));

  world.run_until(0);

  EXPECT_EQ(world.share(1), 2);
}

TEST(Optimus, FinishesEverythingAndKeepsItsStateInWhatItSaves) {
  const auto finishes = [](bool reloads) {
    Random random(7);
    Scene world = optimus_scene({.cluster = "2x4:A+1x4:B",
                                 .slot_seconds = 30,
                                 .accounting = ResizeCostModel::Physical,
                                 .speeds =
                                     [] {
                                       auto rows = linear_speeds("A");
                                       const auto more = linear_speeds("B");
                                       rows.insert(rows.end(), more.begin(), more.end());
                                       return rows;
                                     }(),
                                 .reloads = reloads});
    for (std::uint64_t id = 1; id <= 30; ++id) {
      world.submit(linear_job(id, random.uniform(0, 500), 1, random.uniform(10, 900)));
    }
    world.run_until(200);
    world.set_node(NodeId{0}, false);
    world.run_until(600);
    world.set_node(NodeId{0}, true);
    world.run();
    return world.finishes();
  };

  const auto straight = finishes(false);

  EXPECT_EQ(straight.size(), 30U);
  EXPECT_EQ(straight, finishes(true));
}

// With speeds that gain ever less from another GPU, the greedy round is the best of all.
TEST(Optimus, LeavesTheLeastTimeOfAllSharesOnRandomJobs) {
  Random random(31);
  const std::vector<double> speeds = {0, 1, 1.8, 2.4, 2.8, 3, 3.1};
  std::vector<SpeedRow> rows;
  for (std::size_t gpus = 1; gpus < speeds.size(); ++gpus) {
    rows.push_back(SpeedRow{
        .model = "linear", .batch = 1, .gpus = static_cast<int>(gpus), .speed = speeds[gpus]});
  }
  for (int trial = 0; trial < 2'000; ++trial) {
    Scene world = optimus_scene({.cluster = "1x6", .speeds = rows});
    const std::vector<double> works = {random.uniform(1, 900), random.uniform(1, 900),
                                       random.uniform(1, 900)};
    for (std::size_t i = 0; i < works.size(); ++i) {
      world.submit(linear_job(i + 1, 0, 1, works[i]));
    }

    world.run_until(0);

    const auto left = [&](std::size_t a, std::size_t b, std::size_t c) {
      return works[0] / speeds[a] + works[1] / speeds[b] + works[2] / speeds[c];
    };
    double best = left(2, 2, 2);
    for (std::size_t a = 1; a <= 4; ++a) {
      for (std::size_t b = 1; a + b <= 5; ++b) {
        best = std::min(best, left(a, b, 6 - a - b));
      }
    }
    const double chosen =
        left(static_cast<std::size_t>(world.share(1)), static_cast<std::size_t>(world.share(2)),
             static_cast<std::size_t>(world.share(3)));
    ASSERT_NEAR(chosen, best, 1e-6) << "trial " << trial;
  }
}

TEST(Optimus, RefusesAnOptionItDoesNotKnow) {
  EXPECT_FALSE(make_optimus(PolicyOptions::parse("intervall=3").value()));
  EXPECT_FALSE(make_optimus(PolicyOptions::parse("interval=-3").value()));
}

// Two workers make 1.8 steps a second, one makes one: who has two is behind in work left, and so in
// gain, at the next round.
TEST(Optimus, EqualJobsTakeTurnsWithTheLastGpu) {
  std::vector<SpeedRow> speeds;
  for (int gpus = 1; gpus <= 3; ++gpus) {
    speeds.push_back({.model = "linear",
                      .batch = 1,
                      .gpus = gpus,
                      .speed = std::vector{1.0, 1.8, 2.4}[static_cast<std::size_t>(gpus - 1)]});
  }
  Scene world = optimus_scene({.cluster = "1x3", .slot_seconds = 60, .speeds = speeds});
  world.submit({linear_job(1, 0, 1, 10'000), linear_job(2, 0, 1, 10'000)});

  for (int round = 0; round < 10; ++round) {
    world.run_until(60.0 * round);
    EXPECT_EQ(world.share(1), round % 2 == 0 ? 2 : 1) << round;
    EXPECT_EQ(world.share(2), round % 2 == 0 ? 1 : 2) << round;
  }
}

}  // namespace
}  // namespace rubato::policy::optimus
