// Jobs without a promise on several pools, as the machines of several agents are.
#include "rubato/policy/elasticflow/pools.h"

#include <array>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/policy/elasticflow/elasticflow.h"
#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::elasticflow {
namespace {

Result<std::unique_ptr<Policy>> on_pools() { return make_elasticflow(PolicyOptions{}); }

Job limited(int workers, Job job) {
  job.workers.max = workers;
  return job;
}

// GPUs in use, by pool.
std::map<std::uint64_t, int> used_by_pool(const Scene& scene) {
  std::map<std::uint64_t, int> used;
  scene.jobs().for_each([&](const JobState& job) { used[job.pool().value] += job.share; });
  return used;
}

TEST(FreeGpus, SharesEvenlyAmongThoseWhoCanUseIt) {
  Scene scene(on_pools, {.cluster = "1x8"});
  scene.submit({limited(1, best_effort(linear_job(1, 0, 1, 100))),
                limited(1, best_effort(linear_job(2, 0, 1, 100)))});
  scene.run_until(0);
  const std::array gpus = {8};
  FreeGpus rooms(gpus);

  EXPECT_EQ(rooms.even_share(PoolId{0}, 64), 8);
  EXPECT_EQ(rooms.even_share(PoolId{0}, 3), 3);
  (void)rooms.seat(scene.jobs().at(JobId{1}), scene.view());
  EXPECT_EQ(rooms.even_share(PoolId{0}, 64), 7);
  (void)rooms.seat(scene.jobs().at(JobId{2}), scene.view());
  rooms.reserve(PoolId{0}, 2);
  EXPECT_EQ(rooms.even_share(PoolId{0}, 64), 4);
  EXPECT_EQ(rooms.even_share(PoolId{0}, 1), 1);
}

TEST(ElasticFlowPools, SpreadsJobsOfOneRoundInsteadOfPilingThemUp) {
  Scene scene(on_pools, {.cluster = "1x4@a+1x4@b+1x4@c", .reloads = true});
  scene.submit({best_effort(linear_job(1, 0, 1, 400)), best_effort(linear_job(2, 0, 1, 400)),
                best_effort(linear_job(3, 0, 1, 400))});

  scene.run_until(1);

  for (const std::uint64_t id : {1U, 2U, 3U}) {
    EXPECT_EQ(scene.share(id), 4) << id;
    EXPECT_EQ(scene.jobs().at(JobId{id}).pool(), PoolId{id - 1}) << id;
  }
}

TEST(ElasticFlowPools, ASmallPoolIsUsedBesideALargeOne) {
  // Half of the large one is as much as all of the small one, which would idle.
  Scene scene(on_pools, {.cluster = "1x8@a+1x4@b"});
  scene.submit({best_effort(linear_job(1, 0, 1, 1000)), best_effort(linear_job(2, 0, 1, 1000)),
                best_effort(linear_job(3, 2, 1, 1000))});

  scene.run_until(1);
  EXPECT_EQ(scene.shares(), (std::map<JobId, int>{{JobId{1}, 8}, {JobId{2}, 4}}));
  scene.run_until(3);

  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{0}) << "where more is left for it";
  EXPECT_EQ(used_by_pool(scene), (std::map<std::uint64_t, int>{{0, 8}, {1, 4}}));
}

TEST(ElasticFlowPools, GoesWhereItIsFastestIfAllShareEvenly) {
  // Alone on four slow GPUs a job makes 2 steps a second; on half of the fast ones 1.5 times the
  // factor.
  for (const auto& [factor, second] : {std::pair(1.1, 0U), {3.0, 1U}}) {
    Scene scene(on_pools,
                {.cluster = "1x4:slow+1x4:fast",
                 .speeds = joined(concave_speeds("slow"), concave_speeds("fast", factor))});
    scene.submit({best_effort(linear_job(1, 0, 1, 100)), best_effort(linear_job(2, 0, 1, 100))});

    scene.run_until(1);

    EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1}) << factor;
    EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{second}) << factor;
  }
}

TEST(ElasticFlowPools, AJobWhoseGpusArePromisedMovesToAPoolWithRoom) {
  Scene scene(on_pools, {.cluster = "1x4@a+1x2@b", .accounting = ResizeCostModel::Physical});
  scene.submit({best_effort(linear_job(1, 0, 1, 4000)), due_at(120, linear_job(2, 10, 4, 90))});

  scene.run_until(5);
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{0});
  scene.run_until(30);

  EXPECT_EQ(scene.share(2), 4);
  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1});
  scene.run();
  EXPECT_LE(scene.finish(2), 120);
}

TEST(ElasticFlowPools, AJobComesBackToWhereItWas) {
  // Without a common directory its snapshot is there.
  Scene scene(on_pools, {.cluster = "1x2@a+1x2@b"});
  scene.submit({best_effort(linear_job(1, 0, 1, 400)), best_effort(linear_job(2, 0, 1, 400))});
  scene.run_until(1);
  ASSERT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});

  scene.submit({due_at(62, linear_job(3, 2, 2, 59)), due_at(62, linear_job(4, 2, 2, 59))});
  scene.run_until(10);
  ASSERT_EQ(scene.share(1) + scene.share(2), 0);
  scene.run_until(63);

  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{0});
  EXPECT_EQ(scene.share(2), 2);
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});
}

// --- Property --------------------------------------------------------------------------------

std::vector<Job> random_mix(Random& random) {
  std::vector<Job> jobs;
  double arrival = 0;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    arrival += random.chance(0.5) ? 0 : random.exponential(40);
    Job job = model_job(id, arrival, random.chance(0.5) ? "steep" : "flat", random.uniform(5, 300));
    job.workers.min = random.chance(0.3) ? static_cast<int>(random.integer(2, 4)) : 1;
    job.workers.max = static_cast<int>(random.integer(job.workers.min, 8));
    job.gpu_type = random.chance(0.2) ? "x" : "";
    job = random.chance(0.7) ? best_effort(job) : due_at(arrival + random.uniform(10, 900), job);
    jobs.push_back(job);
  }
  return jobs;
}

// Whoever waits without a promise finds too few idle GPUs in every pool that it may use, and who
// runs finds too few for its next step in its own.
void expect_no_pool_idles(Scene& scene, std::uint64_t seed) {
  const View view = scene.view();
  std::vector<int> idle(view.capacity.begin(), view.capacity.end());
  for (const auto& [pool, gpus] : used_by_pool(scene)) {
    idle[pool] -= gpus;
  }
  scene.jobs().for_each([&](const JobState& job) {
    const bool waits = job.share == 0 && job.admitted && job.promised == kNever;
    for (const Pool& pool : view.topology.pools()) {
      const ScalingCurve& curve = view.curve(job, pool.id);
      ASSERT_FALSE(waits && !curve.empty() && curve.smallest().workers <= idle[pool.id.value])
          << "seed " << seed << " at " << to_seconds(view.now) << " s: job " << job.id().value
          << " waits and " << idle[pool.id.value] << " are idle in pool " << pool.id.value;
    }
    const int next = job.share == 0 ? 0 : view.curve(job, job.pool()).next_above(job.share).workers;
    ASSERT_TRUE(next == 0 || next - job.share > idle[job.pool().value])
        << "seed " << seed << " at " << to_seconds(view.now) << " s: job " << job.id().value;
  });
}

TEST(ElasticFlowPools, NobodyWaitsWhileAPoolHasRoomForIt) {
  constexpr std::array kClusters = {"1x4:x@a+1x4:x@b", "1x8:x@a+1x2:x@b+1x3:x@c", "2x4:x+1x8:y",
                                    "1x2:x@a+1x2:y@a+1x4:x@b+1x1:y@b"};
  int rounds = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    Scene scene(on_pools, {.cluster = kClusters.at(seed % kClusters.size()),
                           .slot_seconds = 10,
                           .speeds = joined(mixed_speeds("x"), mixed_speeds("y"))});
    const std::vector<Job> jobs = random_mix(random);
    scene.submit(jobs);
    scene.watch([&] { expect_no_pool_idles(scene, seed); });

    scene.run_until(60);
    scene.set_node(NodeId{0}, false);
    scene.run_until(150);
    scene.set_node(NodeId{0}, true);
    scene.run();

    ASSERT_FALSE(HasFailure());
    rounds += scene.rounds();
    for (const Job& job : jobs) {
      const bool is_refused = scene.verdict(job.id.value).kind == VerdictKind::Refuse;
      ASSERT_EQ(scene.finish(job.id.value) < 0, is_refused) << "seed " << seed;
    }
  }
  EXPECT_GT(rounds, 10'000);
}

TEST(ElasticFlowPools, GoesOnAfterReloadingAsIfNothingHadHappened) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_TRUE(reloads_exactly(on_pools, seed)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::elasticflow
