#include "rubato/policy/gavel/gavel_las.h"

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::gavel {
namespace {

Result<std::unique_ptr<Policy>> gavel_las() {
  return make_gavel_las(PolicyOptions::parse("round=10").value());
}

// One model per job of the paper's example: speeds on a V100, a P100 and a K80.
std::vector<SpeedRow> paper_speeds() {
  const std::vector<std::vector<double>> speeds = {{4, 2, 1}, {3, 2, 1}, {2, 2, 1}};
  const std::vector<std::string> types = {"V100", "P100", "K80"};
  std::vector<SpeedRow> rows;
  for (std::size_t job = 0; job < speeds.size(); ++job) {
    for (std::size_t type = 0; type < types.size(); ++type) {
      rows.push_back(SpeedRow{.gpu_type = types[type],
                              .model = "m" + std::to_string(job),
                              .batch = 1,
                              .gpus = 1,
                              .speed = speeds[job][type]});
    }
  }
  return rows;
}

Job paper_job(std::uint64_t id, double work) {
  Job job = linear_job(id, 0, 1, work);
  job.model = "m" + std::to_string(id - 1);
  return job;
}

// Each job's mean speed over an equal share comes to 51/47 of it in the long run, with rounds.
TEST(GavelLas, RoundsApproachTheOptimumOfThePaper) {
  Scene scene(gavel_las, {.cluster = "1x1:V100+1x1:P100+1x1:K80", .speeds = paper_speeds()});
  scene.submit({paper_job(1, 1e9), paper_job(2, 1e9), paper_job(3, 1e9)});

  scene.run_until(20'000);

  const std::vector<double> equal = {7.0 / 3, 6.0 / 3, 5.0 / 3};
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const double done = scene.jobs().at(JobId{id}).progress.at(at_seconds(20'000));
    EXPECT_NEAR(done / 20'000 / equal[id - 1], 51.0 / 47, 0.02) << "job " << id;
  }
}

TEST(GavelLas, GivesJobsEqualGpuTime) {
  Scene scene(gavel_las, {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 4, 1e6), linear_job(2, 0, 2, 1e6), linear_job(3, 0, 2, 1e6)});

  scene.run_until(10'000);

  for (std::uint64_t id = 1; id <= 3; ++id) {
    const JobState& job = scene.jobs().at(JobId{id});
    const double gpu_seconds = job.usage.gpu_seconds_at(at_seconds(10'000), job.share);
    EXPECT_NEAR(gpu_seconds, 40'000.0 / 3, 600) << "job " << id;
  }
}

TEST(GavelLas, AWeightOfTwoBuysTwiceTheTime) {
  Scene scene(gavel_las, {.cluster = "1x1"});
  Job heavy = linear_job(1, 0, 1, 1e6);
  heavy.weight = 2;
  scene.submit({heavy, linear_job(2, 0, 1, 1e6)});

  scene.run_until(9'000);

  EXPECT_NEAR(scene.jobs().at(JobId{1}).progress.at(at_seconds(9'000)), 6'000, 200);
}

TEST(GavelLas, StartsAtOnceWhenTheClusterIsIdleAndElseAtTheNextRound) {
  Scene scene(gavel_las, {.cluster = "1x2"});
  scene.submit({linear_job(1, 3, 1, 14), linear_job(2, 5, 1, 5)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 17);
  EXPECT_EQ(scene.finish(2), 18);  // The round that began at 3 ends at 13.
}

TEST(GavelLas, LeavesNoGpuIdleThatAJobCouldUse) {
  Scene scene(gavel_las, {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 4, 100), linear_job(2, 0, 1, 100), linear_job(3, 0, 3, 100)});
  scene.watch([&] {
    const int used = scene.share(1) + scene.share(2) + scene.share(3);
    EXPECT_TRUE(used == 4 || scene.jobs().size() < 3);
  });

  scene.run();

  EXPECT_EQ(scene.finishes().size(), 3U);
}

TEST(GavelLas, GoesOnExactlyAfterAReload) {
  std::vector<std::map<JobId, Instant>> finishes;
  for (const bool reloads : {false, true}) {
    Scene scene(gavel_las, {.cluster = "2x2:V100+1x4:P100",
                            .accounting = ResizeCostModel::Physical,
                            .speeds = paper_speeds(),
                            .reloads = reloads});
    Random random(9);
    for (std::uint64_t id = 1; id <= 20; ++id) {
      Job job = paper_job(id % 3 + 1, 200);
      job.id = JobId{id};
      job.arrival = at_seconds(random.uniform(0, 300));
      scene.submit(job);
    }
    scene.run_until(100);
    scene.set_node(NodeId{0}, false);
    scene.run_until(200);
    scene.set_node(NodeId{0}, true);
    scene.run();
    finishes.push_back(scene.finishes());
  }

  EXPECT_EQ(finishes[0].size(), 20U);
  EXPECT_EQ(finishes[0], finishes[1]);
}

TEST(GavelLas, WaitsForMachinesThatAreDown) {
  Scene scene(gavel_las, {.cluster = "1x4"});
  scene.submit(linear_job(1, 0, 4, 20));
  scene.run_until(5);

  scene.set_node(NodeId{0}, false);
  scene.run_until(50);
  scene.set_node(NodeId{0}, true);
  scene.run();

  EXPECT_EQ(scene.finish(1), 65);
}

TEST(GavelLas, RefusesAJobThatCanRunNowhere) {
  Scene scene(gavel_las, {.speeds = paper_speeds()});
  Job job = paper_job(1, 10);
  job.model = "unheard of";
  job.gpu_type = "H100";
  scene.submit(job);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
}

TEST(GavelLas, OptionsAreChecked) {
  EXPECT_FALSE(make_gavel_las(PolicyOptions::parse("round=0").value()).ok());
  EXPECT_FALSE(make_gavel_las(PolicyOptions::parse("rounds=5").value()).ok());
  EXPECT_TRUE(make_gavel_las(PolicyOptions::parse("round=60,half_life=60").value()).ok());
}

}  // namespace
}  // namespace rubato::policy::gavel
