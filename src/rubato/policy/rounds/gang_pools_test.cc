// What every gang policy does with several pools.
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/policy/registry.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/testing/policy_scene.h"
#include "rubato/policy/testing/random_gangs_test.h"

namespace rubato::policy::rounds {
namespace {

struct GangCase {
  std::string name{};
  std::string spec{};
  bool skips = true;  // Whoever fits runs, whoever waits ahead of it.
};

void PrintTo(const GangCase& which, std::ostream* out) { *out << which.name; }

constexpr GangLimits kPoolsLimits{.jobs = 16, .arrival = 40, .gpus = 6, .seconds = 20};

// Twice as fast on type b.
std::vector<SpeedRow> faster_on_b() {
  std::vector<SpeedRow> rows = linear_speeds("a");
  for (SpeedRow row : linear_speeds("b")) {
    row.speed *= 2;
    rows.push_back(row);
  }
  return rows;
}

class GangPools : public testing::TestWithParam<GangCase> {
 protected:
  static Scene::Make policy() {
    return [] { return make_policy(GetParam().spec); };
  }
};

TEST_P(GangPools, ASecondEqualRegionDoesNotIdle) {
  Scene scene(policy(), {.cluster = "1x4:a@east+1x4:a@west", .speeds = linear_speeds("a")});
  scene.submit({linear_job(1, 0, 4, 10), linear_job(2, 0, 4, 10), linear_job(3, 0, 4, 10)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 4);
  EXPECT_EQ(scene.share(3), 0);
}

TEST_P(GangPools, TheFasterTypeIsTakenFirstAndTheSlowerWhenItIsFull) {
  Scene scene(policy(), {.cluster = "1x4:a+1x4:b", .speeds = faster_on_b()});
  scene.submit({linear_job(1, 0, 4, 10), linear_job(2, 0.5, 4, 10)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 5);
  EXPECT_EQ(scene.finish(2), 10.5);
}

TEST_P(GangPools, AJobTooWideForOnePoolTakesTheOther) {
  Scene scene(policy(), {.cluster = "1x4:a+1x8:b", .speeds = faster_on_b()});
  scene.submit(linear_job(1, 0, 6, 10));

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 6);
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1});
}

TEST_P(GangPools, AJobThatLostItsPoolGoesOnInAnother) {
  Scene scene(policy(), {.cluster = "1x4:a@east+1x4:a@west", .speeds = linear_speeds("a")});
  scene.submit(linear_job(1, 0, 4, 10));
  scene.run_until(5);

  scene.set_node(NodeId{0}, false);
  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
}

// The first in line at least; everyone under a policy that looks past it.
TEST_P(GangPools, NobodyWaitsWhoWouldFit) {
  int waits = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Scene scene(policy(), {.cluster = "1x4:a+2x4:b+1x2:a@far", .speeds = faster_on_b()});
    scene.submit(random_gangs(seed, kPoolsLimits));
    scene.watch([&] {
      const View view = scene.view();
      std::vector<int> free(view.capacity.begin(), view.capacity.end());
      std::set<std::pair<Instant, JobId>> waiting;
      view.jobs.for_each([&](const JobState& job) {
        free[job.pool().value] -= job.share;
        if (job.share == 0) {
          waiting.emplace(job.job.arrival, job.id());
        }
      });
      for (const auto& [arrival, id] : waiting) {
        for (const Gang& gang : gangs_by_speed(view.jobs.at(id), view)) {
          ASSERT_GT(gang.workers, free[gang.pool.value]) << "seed " << seed;
        }
        ++waits;
        if (!GetParam().skips) {
          break;
        }
      }
    });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 16U);
  }
  EXPECT_GT(waits, 200);
}

TEST_P(GangPools, ContinuesFromASavedStateThroughFaults) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::map<JobId, Instant>> finishes;
    for (const bool reloads : {false, true}) {
      Scene scene(policy(), {.cluster = "1x4:a+2x4:b",
                             .slot_seconds = 2,
                             .accounting = ResizeCostModel::Physical,
                             .speeds = faster_on_b(),
                             .reloads = reloads});
      scene.submit(random_gangs(seed, kPoolsLimits));
      scene.run_until(15);
      scene.set_node(NodeId{seed % 3}, false);
      scene.run_until(40);
      scene.set_node(NodeId{seed % 3}, true);
      scene.run();
      finishes.push_back(scene.finishes());
    }

    ASSERT_EQ(finishes[0].size(), 16U) << "seed " << seed;
    ASSERT_EQ(finishes[0], finishes[1]) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, GangPools,
    testing::Values(GangCase{"fifo", "fifo", false}, GangCase{"backfill", "backfill", false},
                    GangCase{"srtf", "srtf"}, GangCase{"tiresias", "tiresias"},
                    GangCase{"tiresias_prompt", "tiresias:thresholds=5/20"},
                    GangCase{"tiresias_gittins", "tiresias:thresholds=5/20,gittins=on"}),
    [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace rubato::policy::rounds
