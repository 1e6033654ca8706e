#include "rubato/policy/gavel/gavel_ftf.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::gavel {
namespace {

Scene::Make gavel_ftf(std::string options) {
  return [options] { return make_gavel_ftf(PolicyOptions::parse(options).value()); };
}

std::vector<SpeedRow> half_speed_on_slow() {
  std::vector<SpeedRow> rows = linear_speeds("fast");
  for (SpeedRow row : linear_speeds("slow")) {
    row.speed /= 2;
    rows.push_back(row);
  }
  return rows;
}

// Two jobs of the same length share one GPU; each would take 200 s on half of it.
TEST(GavelFtf, EqualJobsFinishTogetherAndFairly) {
  Scene scene(gavel_ftf("round=5"), {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 100), linear_job(2, 0, 1, 100)});

  scene.run();

  EXPECT_NEAR(scene.finish(1), 195, 5.1);
  EXPECT_NEAR(scene.finish(2), 195, 5.1);
}

TEST(GavelFtf, ShortJobsAreNotHeldUpByLongOnes) {
  Scene scene(gavel_ftf("round=5"), {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 1000), linear_job(2, 0, 1, 50)});

  scene.run();

  EXPECT_LE(scene.finish(2), 130);  // 100 s on half of the GPU.
}

TEST(GavelFtf, GoesOnExactlyAfterAReload) {
  std::vector<std::map<JobId, Instant>> finishes;
  for (const bool reloads : {false, true}) {
    Scene scene(gavel_ftf("round=10,jobs_max=5"), {.cluster = "2x2:fast+1x4:slow",
                                                   .accounting = ResizeCostModel::Physical,
                                                   .speeds = half_speed_on_slow(),
                                                   .reloads = reloads});
    Random random(11);
    for (std::uint64_t id = 1; id <= 25; ++id) {
      scene.submit(
          linear_job(id, random.uniform(0, 200), 1 << random.integer(0, 2), random.uniform(5, 80)));
    }
    scene.run_until(60);
    for (const auto& [id, share] : scene.shares()) {
      if (share > 0) {
        scene.measure(id.value, 0.5);
        break;
      }
    }
    scene.set_node(NodeId{1}, false);
    scene.run_until(150);
    scene.set_node(NodeId{1}, true);
    scene.run();
    finishes.push_back(scene.finishes());
  }

  EXPECT_EQ(finishes[0].size(), 25U);
  EXPECT_EQ(finishes[0], finishes[1]);
}

TEST(GavelFtf, MoreJobsThanTheProgramHoldsAllFinish) {
  Scene scene(gavel_ftf("round=10,jobs_max=2"),
              {.cluster = "1x2:fast+1x2:slow", .speeds = half_speed_on_slow()});
  for (std::uint64_t id = 1; id <= 12; ++id) {
    scene.submit(linear_job(id, 0, 1, 30));
  }

  scene.run();

  EXPECT_EQ(scene.finishes().size(), 12U);
}

TEST(GavelFtf, OptionsAreChecked) {
  EXPECT_FALSE(make_gavel_ftf(PolicyOptions::parse("jobs_max=0").value()).ok());
  EXPECT_FALSE(make_gavel_ftf(PolicyOptions::parse("window=5").value()).ok());
}

}  // namespace
}  // namespace rubato::policy::gavel
