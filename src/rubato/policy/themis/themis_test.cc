#include "rubato/policy/themis/themis.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::themis {
namespace {

Scene::Make themis(std::string options) {
  return [options] { return make_themis(PolicyOptions::parse(options).value()); };
}

TEST(Themis, GivesAJobAloneAllItAsksFor) {
  Scene scene(themis(""), {.cluster = "2x4"});
  scene.submit(linear_job(1, 0, 4, 100));

  scene.run();

  EXPECT_EQ(scene.finish(1), 100);
}

TEST(Themis, ALeaseIsNotBroken) {
  Scene scene(themis("lease=50"), {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 4, 100), linear_job(2, 10, 4, 10)});

  scene.run_until(49);
  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 0);

  scene.run();
  EXPECT_LE(scene.finish(2), 110);
}

// At 50 both want all four GPUs. The short job's ratio is far worse; it alone is asked to bid.
TEST(Themis, AsksTheWorstOffFirst) {
  Scene scene(themis("lease=50,filter=0.8"), {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 4, 1000), linear_job(2, 1, 4, 10)});

  scene.run_until(51);

  EXPECT_EQ(scene.share(2), 4);
  EXPECT_EQ(scene.share(1), 0);
}

TEST(Themis, HandsOutWhatTheAuctionLeaves) {
  Scene scene(themis("filter=0"), {.cluster = "1x8"});
  scene.submit({linear_job(1, 0, 8, 100), linear_job(2, 0, 8, 100)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1) + scene.share(2), 8);
}

TEST(Themis, UsesOtherPoolsForWhatIsLeft) {
  std::vector<SpeedRow> speeds = linear_speeds("fast");
  for (const SpeedRow& row : linear_speeds("slow")) {
    speeds.push_back(row);
  }
  Scene scene(themis(""), {.cluster = "1x4:fast+1x4:slow", .speeds = speeds});
  scene.submit({linear_job(1, 0, 4, 100), linear_job(2, 0, 4, 100)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 4);
}

TEST(Themis, NeverGivesMoreThanAskedForAndLeavesNoUsableGpuIdle) {
  Random random(8);
  for (int trial = 0; trial < 2'000; ++trial) {
    Scene scene(themis("lease=20"), {.cluster = "2x2"});
    std::map<JobId, int> asked;
    for (std::uint64_t id = 1; id <= 5; ++id) {
      const Job job = linear_job(id, random.uniform(0, 60), static_cast<int>(random.integer(1, 3)),
                                 random.uniform(5, 60));
      asked[job.id] = job.requested;
      scene.submit(job);
    }
    scene.watch([&] {
      int used = 0;
      int waiting = 0;
      for (const auto& [id, share] : scene.shares()) {
        EXPECT_LE(share, asked[id]);
        used += share;
        waiting += share == 0 ? 1 : 0;
      }
      // Any number of GPUs suits these jobs: someone waits only when all are taken.
      ASSERT_TRUE(waiting == 0 || used == 4) << "trial " << trial;
    });

    scene.run();

    EXPECT_EQ(scene.finishes().size(), 5U);
  }
}

// Sharing incentive in the long run: equal jobs all finish near the time of their equal share.
TEST(Themis, EqualJobsFinishNearTheirFairTime) {
  Scene scene(themis("lease=10"), {.cluster = "1x8"});
  for (std::uint64_t id = 1; id <= 4; ++id) {
    scene.submit(linear_job(id, 0, 8, 100));
  }

  scene.run();

  for (std::uint64_t id = 1; id <= 4; ++id) {
    EXPECT_LE(scene.finish(id), 400 + 1) << "job " << id;
    EXPECT_GE(scene.finish(id), 300) << "job " << id;
  }
}

TEST(Themis, GoesOnExactlyAfterAReload) {
  std::vector<std::map<JobId, Instant>> finishes;
  for (const bool reloads : {false, true}) {
    Scene scene(themis("lease=30"), {.cluster = "3x4",
                                     .slot_seconds = 5,
                                     .accounting = ResizeCostModel::Physical,
                                     .reloads = reloads});
    Random random(12);
    for (std::uint64_t id = 1; id <= 30; ++id) {
      scene.submit(linear_job(id, random.uniform(0, 200), static_cast<int>(random.integer(1, 9)),
                              random.uniform(5, 100)));
    }
    scene.run_until(80);
    scene.set_node(NodeId{2}, false);
    scene.run_until(160);
    scene.set_node(NodeId{2}, true);
    scene.run();
    finishes.push_back(scene.finishes());
  }

  EXPECT_EQ(finishes[0].size(), 30U);
  EXPECT_EQ(finishes[0], finishes[1]);
}

TEST(Themis, OptionsAreChecked) {
  EXPECT_FALSE(themis("filter=2")().ok());
  EXPECT_FALSE(themis("lease=0")().ok());
  EXPECT_FALSE(themis("leases=5")().ok());
}

}  // namespace
}  // namespace rubato::policy::themis
