#include "rubato/policy/shockwave/shockwave.h"

#include <gtest/gtest.h>

#include "rubato/policy/shockwave/pace_record.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::shockwave {
namespace {

Scene::Make shockwave(std::string options) {
  return [options] { return make_shockwave(PolicyOptions::parse(options).value()); };
}

// The worked example: with two rounds ahead the job that has nothing yet gets both.
TEST(Shockwave, RunsTheBestPlanOfTheWorkedExample) {
  Scene scene(shockwave("round=120,rounds=2,rho_max=100"), {.cluster = "1x1"});
  Job half_done = linear_job(1, 0, 1, 600);
  scene.submit(half_done);
  scene.run_until(299);
  scene.submit(linear_job(2, 300, 1, 480));

  scene.run_until(361);

  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(2), 1);
}

TEST(Shockwave, EveryoneProgressesAndFinishes) {
  Scene scene(shockwave("round=10"), {.cluster = "1x4"});
  for (std::uint64_t id = 1; id <= 6; ++id) {
    scene.submit(linear_job(id, 0, 4, 60));
  }

  scene.run_until(199);
  int started = 0;
  scene.jobs().for_each([&](const JobState& job) { started += job.first_start != kNever ? 1 : 0; });
  EXPECT_EQ(started, 6);

  scene.run();
  EXPECT_EQ(scene.finishes().size(), 6U);
}

// A few runs to their end, and the first round of thousands.
TEST(Shockwave, LeavesNoGpuIdleThatAJobCouldUse) {
  Random random(3);
  for (int trial = 0; trial < 2'000; ++trial) {
    const bool is_long = trial < 10;
    Scene scene(shockwave("round=10,jobs_max=3"), {.cluster = is_long ? "2x4" : "1x4"});
    const std::uint64_t count = is_long ? 12 : 4;
    std::map<JobId, int> asked;
    for (std::uint64_t id = 1; id <= count; ++id) {
      const Job job = linear_job(id, is_long ? random.uniform(0, 60) : 0,
                                 1 << random.integer(0, is_long ? 3 : 2), random.uniform(5, 60));
      asked[job.id] = job.requested;
      scene.submit(job);
    }
    scene.watch([&] {
      int free = is_long ? 8 : 4;
      for (const auto& [id, share] : scene.shares()) {
        free -= share;
      }
      for (const auto& [id, share] : scene.shares()) {
        ASSERT_TRUE(share > 0 || asked[id] > free) << "trial " << trial;
      }
    });

    is_long ? scene.run() : scene.run_until(0);

    ASSERT_GT(scene.rounds(), 0) << "trial " << trial;
    ASSERT_TRUE(!is_long || scene.finishes().size() == count) << "trial " << trial;
  }
}

TEST(Shockwave, GoesOnExactlyAfterAReload) {
  std::vector<std::map<JobId, Instant>> finishes;
  for (const bool reloads : {false, true}) {
    Scene scene(
        shockwave("round=10"),
        {.cluster = "2x4:a+1x4:b", .accounting = ResizeCostModel::Physical, .reloads = reloads});
    Random random(12);
    for (std::uint64_t id = 1; id <= 16; ++id) {
      scene.submit(
          linear_job(id, random.uniform(0, 100), 1 << random.integer(0, 3), random.uniform(5, 80)));
    }
    scene.run_until(55);
    for (const auto& [id, share] : scene.shares()) {
      if (share > 0) {
        scene.measure(id.value, 0.5);
      }
    }
    scene.set_node(NodeId{0}, false);
    scene.run_until(120);
    scene.set_node(NodeId{0}, true);
    scene.run();
    finishes.push_back(scene.finishes());
  }

  EXPECT_EQ(finishes[0].size(), 16U);
  EXPECT_EQ(finishes[0], finishes[1]);
}

TEST(PaceRecord, ExpectsTheOldPaceToComeBack) {
  JobState job;
  job.job.work = 100;
  PaceRecord record;
  job.progress.done = 50;
  EXPECT_NEAR(record.seconds_left(job, 1, Instant{}), 50, 1e-9);

  job.speed_factor = 0.5;
  record.report(job, Instant{});

  // Half of the work was seen at full pace, and the prior says that half will be slow.
  const double left = record.seconds_left(job, 1, Instant{});
  EXPECT_GT(left, 50 + 10);
  EXPECT_LT(left, 100);
}

TEST(Shockwave, OptionsAreChecked) {
  EXPECT_FALSE(shockwave("rounds=61")().ok());
  EXPECT_FALSE(shockwave("lamda=2")().ok());
  EXPECT_TRUE(shockwave("rounds=60,k=10")().ok());
}

}  // namespace
}  // namespace rubato::policy::shockwave
