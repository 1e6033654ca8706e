#include "rubato/policy/goodput/sia.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::goodput {
namespace {

Scene sia_scene(SceneOptions options, std::string_view chosen = "") {
  return Scene([chosen] { return make_sia(PolicyOptions::parse(chosen).value()); },
               std::move(options));
}

// `plain` runs alike on both types; `picky` is four times as fast on B.
std::vector<SpeedRow> plain_and_picky() {
  std::vector<SpeedRow> rows;
  for (const std::string type : {"A", "B"}) {
    for (int gpus = 1; gpus <= 8; gpus *= 2) {
      rows.push_back(SpeedRow{
          .gpu_type = type, .model = "linear", .batch = 1, .gpus = gpus, .speed = 1.0 * gpus});
      rows.push_back(SpeedRow{.gpu_type = type,
                              .model = "picky",
                              .batch = 1,
                              .gpus = gpus,
                              .speed = (type == "B" ? 4.0 : 1.0) * gpus});
    }
  }
  return rows;
}

Job picky(std::uint64_t id) {
  Job job = linear_job(id, 0, 1, 10'000);
  job.model = "picky";
  return job;
}

TEST(Sia, PutsJobsOnTheTypeTheyProfitFrom) {
  Scene world = sia_scene({.cluster = "1x4:A+1x4:B", .speeds = plain_and_picky()});
  world.submit(linear_job(1, 0, 1, 10'000));
  world.submit(picky(2));

  world.run_until(0);

  EXPECT_EQ(world.share(1), 4);
  EXPECT_EQ(world.share(2), 4);
  EXPECT_EQ(world.jobs().at(JobId{2}).pool(), PoolId{1});
}

TEST(Sia, LeavesNobodyWithoutGpusIfWaitingIsDear) {
  const auto served = [](std::string_view options) {
    Scene world = sia_scene({.cluster = "2x4"}, options);
    for (std::uint64_t id = 1; id <= 8; ++id) {
      world.submit(linear_job(id, 0, 1, 10'000));
    }
    world.run_until(0);
    int jobs = 0;
    for (const auto& [id, share] : world.shares()) {
      jobs += share > 0 ? 1 : 0;
    }
    return jobs;
  };

  // A second GPU lowers the cost of a job from 1 to 0.71; the first one from lambda to 1.
  EXPECT_EQ(served("lambda=2"), 8);
  EXPECT_EQ(served("lambda=1.1"), 4);
}

TEST(Sia, DoesNotMoveAJobThatIsStillRestarting) {
  Scene world =
      sia_scene({.cluster = "1x4", .slot_seconds = 1, .accounting = ResizeCostModel::Physical});
  world.submit(linear_job(1, 0, 1, 10'000));
  world.run_until(0);
  const int before = world.share(1);
  world.submit(linear_job(2, 1, 1, 10'000));

  world.run_until(1);

  EXPECT_EQ(world.share(1), before);
}

TEST(Sia, FinishesEverythingAndKeepsItsStateInWhatItSaves) {
  const auto finishes = [](bool reloads) {
    Random random(9);
    Scene world = sia_scene({.cluster = "2x4:A+1x4:B",
                             .slot_seconds = 30,
                             .accounting = ResizeCostModel::Physical,
                             .speeds = plain_and_picky(),
                             .reloads = reloads});
    for (std::uint64_t id = 1; id <= 30; ++id) {
      Job job = id % 2 == 0 ? picky(id) : linear_job(id, 0, 1, 1'000);
      job.work = random.uniform(10, 2'000);
      job.arrival = at_seconds(random.uniform(0, 900));
      world.submit(job);
    }
    world.run_until(300);
    world.set_node(NodeId{2}, false);
    world.run_until(1'000);
    world.set_node(NodeId{2}, true);
    world.run();
    return world.finishes();
  };

  const auto straight = finishes(false);

  EXPECT_EQ(straight.size(), 30U);
  EXPECT_EQ(straight, finishes(true));
}

/// Speeds of a few models, each with its own scaling on two types.
struct RandomSpeeds {
  explicit RandomSpeeds(Random& random, std::size_t models) {
    for (std::size_t i = 0; i < models; ++i) {
      for (std::size_t type = 0; type < 2; ++type) {
        const double one = random.uniform(1, 6);
        const double scaling = random.uniform(0.3, 0.95);
        for (int gpus = 1; gpus <= 4 >> type; gpus *= 2) {
          rows.push_back({.gpu_type = type == 0 ? "A" : "B",
                          .model = "m" + std::to_string(i + 1),
                          .batch = 1,
                          .gpus = gpus,
                          .speed = one * std::pow(gpus, scaling)});
        }
      }
    }
  }

  // What the paper charges for a job that runs so; 1.1 if it waits.
  [[nodiscard]] double cost(std::uint64_t id, std::size_t pool, int gpus) const {
    const std::string model = "m" + std::to_string(id);
    double least = std::numeric_limits<double>::infinity();
    double here = 0;
    for (const SpeedRow& row : rows) {
      if (row.model == model) {
        least = std::min(least, row.speed);
        here = row.gpu_type == (pool == 0 ? "A" : "B") && row.gpus == gpus ? row.speed : here;
      }
    }
    return gpus == 0 ? 1.1 : 1 / std::sqrt(here / least);
  }

  // The least total over every choice for the jobs from `id` on.
  [[nodiscard]] double least_cost(std::uint64_t id, std::uint64_t last, int free_a,
                                  int free_b) const {
    if (id > last) {
      return 0;
    }
    double best = 1.1 + least_cost(id + 1, last, free_a, free_b);
    for (int gpus = 1; gpus <= free_a; gpus *= 2) {
      best = std::min(best, cost(id, 0, gpus) + least_cost(id + 1, last, free_a - gpus, free_b));
    }
    for (int gpus = 1; gpus <= free_b; gpus *= 2) {
      best = std::min(best, cost(id, 1, gpus) + least_cost(id + 1, last, free_a, free_b - gpus));
    }
    return best;
  }

  std::vector<SpeedRow> rows{};
};

TEST(Sia, IsWithinAThousandthOfTheBestConfigurationsInSmallWorlds) {
  Random random(21);
  for (int trial = 0; trial < 2'000; ++trial) {
    const auto count = static_cast<std::uint64_t>(random.integer(1, 3));
    const RandomSpeeds speeds(random, count);
    Scene world = sia_scene({.cluster = "1x4:A+1x2:B", .speeds = speeds.rows});
    for (std::uint64_t id = 1; id <= count; ++id) {
      Job job = linear_job(id, 0, 1, 10'000);
      job.model = "m" + std::to_string(id);
      world.submit(job);
    }

    world.run_until(0);

    double chosen = 0;
    for (std::uint64_t id = 1; id <= count; ++id) {
      chosen += speeds.cost(id, world.jobs().at(JobId{id}).pool().value, world.share(id));
    }
    const double best = speeds.least_cost(1, count, 4, 2);
    ASSERT_GE(chosen, best - 1e-9) << "trial " << trial;
    ASSERT_LE(chosen, best * (1 + 1e-3) + 1e-9) << "trial " << trial;
  }
}

TEST(Sia, RefusesAnExponentOfZero) {
  EXPECT_FALSE(make_sia(PolicyOptions::parse("p=0").value()));
  EXPECT_TRUE(make_sia(PolicyOptions::parse("p=0.5,lambda=2").value()));
}

}  // namespace
}  // namespace rubato::policy::goodput
