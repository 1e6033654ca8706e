#include "rubato/policy/goodput/pollux.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/goodput/canonical_shares.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::goodput {
namespace {

Scene pollux_scene(SceneOptions options, std::string_view chosen = "") {
  return Scene([chosen] { return make_pollux(PolicyOptions::parse(chosen).value()); },
               std::move(options));
}

// A job that stops gaining at a number of GPUs of its own.
Job saturating(std::uint64_t id, int kind) {
  Job job = linear_job(id, 0, 1, 1'000);
  job.model = "kind" + std::to_string(kind);
  return job;
}

double speed_of(int kind, int gpus) { return std::pow(gpus, 0.2 + 0.2 * kind); }

std::vector<SpeedRow> kinds() {
  std::vector<SpeedRow> rows;
  for (int kind = 0; kind < 4; ++kind) {
    for (int gpus = 1; gpus <= 16; gpus *= 2) {
      rows.push_back(SpeedRow{.model = "kind" + std::to_string(kind),
                              .batch = 1,
                              .gpus = gpus,
                              .speed = speed_of(kind, gpus)});
    }
  }
  return rows;
}

TEST(Pollux, SharesEquallyAmongEquals) {
  Scene world = pollux_scene({.cluster = "2x4"});
  for (std::uint64_t id = 1; id <= 4; ++id) {
    world.submit(linear_job(id, 0, 1, 1'000));
  }

  world.run_until(0);

  for (std::uint64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(world.share(id), 2);
  }
}

TEST(Pollux, TakesNoMoreThanItMay) {
  Scene world = pollux_scene({.cluster = "2x4"}, "max=2");
  world.submit(linear_job(1, 0, 1, 1'000));

  world.run_until(0);

  EXPECT_EQ(world.share(1), 2);
}

// The power mean of speedups over a fair share, as the paper has it, for jobs that just arrived.
double fitness(const std::vector<int>& job_kinds, const std::vector<int>& shares, int gpus,
               int nodes) {
  const int count = static_cast<int>(job_kinds.size());
  const int fair = (gpus + count - 1) / count;
  double sum = 0;
  for (std::size_t i = 0; i < job_kinds.size(); ++i) {
    const double speedup =
        shares[i] == 0 ? 0 : speed_of(job_kinds[i], shares[i]) / speed_of(job_kinds[i], fair);
    sum += 1 / (speedup * nodes / gpus + 1e-3);
  }
  return count / sum;
}

// The best fitness over all canonical shares, by trying them all.
double best_fitness(const std::vector<int>& job_kinds, std::vector<int>& shares, int left,
                    const Topology& topology) {
  if (shares.size() == job_kinds.size()) {
    return fitness(job_kinds, shares, topology.gpus(), static_cast<int>(topology.nodes().size()));
  }
  double best = 0;
  std::vector<int> options = {0};
  for (const CanonicalShare& share : canonical_shares(topology.pools().front(), left, 64)) {
    options.push_back(share.workers);
  }
  for (const int option : options) {
    shares.push_back(option);
    best = std::max(best, best_fitness(job_kinds, shares, left - option, topology));
    shares.pop_back();
  }
  return best;
}

TEST(Pollux, FindsTheBestFitnessThereIs) {
  Random random(21);
  const Topology topology = Topology::parse("2x4").value();
  for (int round = 0; round < 2'000; ++round) {
    std::vector<int> job_kinds;
    Scene world = pollux_scene({.cluster = "2x4", .speeds = kinds()});
    const auto count = static_cast<std::uint64_t>(random.integer(1, 4));
    for (std::uint64_t id = 1; id <= count; ++id) {
      job_kinds.push_back(static_cast<int>(random.integer(0, 3)));
      world.submit(saturating(id, job_kinds.back()));
    }

    world.run_until(0);

    std::vector<int> shares;
    for (std::uint64_t id = 1; id <= count; ++id) {
      shares.push_back(world.share(id));
    }
    std::vector<int> none;
    // Fair shares of three GPUs lie between two measured counts, where speeds are interpolated.
    if (count != 3) {
      ASSERT_NEAR(fitness(job_kinds, shares, 8, 2), best_fitness(job_kinds, none, 8, topology),
                  1e-9)
          << "round " << round;
    }
  }
}

TEST(Pollux, DoesNotRestartAJobForNothing) {
  Scene world =
      pollux_scene({.cluster = "2x4", .slot_seconds = 60, .accounting = ResizeCostModel::Physical});
  world.submit(linear_job(1, 0, 1, 10'000));
  world.submit(linear_job(2, 0, 1, 10'000));

  world.run_until(1'000);

  EXPECT_EQ(world.jobs().at(JobId{1}).resizes, 0);
  EXPECT_EQ(world.jobs().at(JobId{2}).resizes, 0);
}

TEST(Pollux, FinishesEverythingAndKeepsItsStateInWhatItSaves) {
  const auto finishes = [](bool reloads) {
    Random random(7);
    Scene world = pollux_scene({.cluster = "3x4",
                                .slot_seconds = 30,
                                .accounting = ResizeCostModel::Physical,
                                .speeds = kinds(),
                                .reloads = reloads});
    for (std::uint64_t id = 1; id <= 30; ++id) {
      Job job = saturating(id, static_cast<int>(id % 4));
      job.arrival = at_seconds(random.uniform(0, 900));
      world.submit(job);
    }
    world.run_until(300);
    world.set_node(NodeId{0}, false);
    world.run_until(2'000);
    world.set_node(NodeId{0}, true);
    world.run();
    return world.finishes();
  };

  const auto straight = finishes(false);

  EXPECT_EQ(straight.size(), 30U);
  EXPECT_EQ(straight, finishes(true));
}

TEST(Pollux, RefusesAnExponentOfZero) {
  EXPECT_FALSE(make_pollux(PolicyOptions::parse("p=0").value()));
  EXPECT_FALSE(make_pollux(PolicyOptions::parse("p=2").value()));
  EXPECT_TRUE(make_pollux(PolicyOptions::parse("p=-10,max=16").value()));
}

}  // namespace
}  // namespace rubato::policy::goodput
