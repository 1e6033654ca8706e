#include "rubato/policy/reconstructed/preemptive_edge.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::reconstructed {
namespace {

Result<std::unique_ptr<Policy>> preemptive_edge() { return make_preemptive_edge(PolicyOptions{}); }

std::vector<SpeedRow> rows(std::string_view type, std::string_view model, double per_gpu) {
  std::vector<SpeedRow> rows = linear_speeds(type);
  for (SpeedRow& row : rows) {
    row.model = std::string(model);
    row.speed *= per_gpu;
  }
  return rows;
}

// One step per second and GPU at the edge; faster on the cloud.
std::vector<SpeedRow> edge_and_cloud() {
  std::vector<SpeedRow> all;
  for (const auto& some : {rows("edge", "linear", 1), rows("cloud", "linear", 1.2),
                           rows("edge", "large", 1), rows("cloud", "large", 2)}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// The jobs of the specification: E epochs of D chunks of one batch, at one batch a slot.
Job job_of(std::uint64_t id, double arrival, int epochs, int chunks) {
  Job job = linear_job(id, arrival, chunks, epochs);
  job.region = "home";
  return job;
}

TEST(PreemptiveEdge, RunsTheExampleOfTheSpecification) {
  Scene scene(preemptive_edge, {.cluster = "1x2:edge@edge/1+1x8:cloud@cloud/10",
                                .speeds = edge_and_cloud(),
                                .reloads = true});
  Job c = job_of(3, 4, 60, 2);
  c.model = "large";
  scene.submit({job_of(1, 1, 6, 2), job_of(2, 3, 2, 2), c});

  scene.run_until(3.5);
  EXPECT_EQ(scene.share(1), 2);
  scene.run_until(5);
  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(2), 2);
  scene.run_until(13);
  EXPECT_EQ(scene.share(3), 0);
  scene.run_until(14);
  EXPECT_EQ(scene.share(3), 2);
  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{1});
  scene.run();

  EXPECT_EQ(scene.finish(1), 10);  // Slots 2 and 3, then 6 to 9.
  EXPECT_EQ(scene.finish(2), 6);
  EXPECT_EQ(scene.finish(3), 44);
}

TEST(PreemptiveEdge, WaitsForDataBeforeItTakesGpus) {
  Scene scene(preemptive_edge, {.cluster = "1x2@edge/20"});
  scene.submit({job_of(1, 0, 10, 2), job_of(2, 0, 30, 2)});

  scene.run_until(19);
  EXPECT_EQ(scene.share(1) + scene.share(2), 0);
  scene.run();

  EXPECT_EQ(scene.finish(1), 30);
  EXPECT_EQ(scene.finish(2), 60);
}

TEST(PreemptiveEdge, RunsAPartOfAJobBesideADenserOne) {
  Scene scene(preemptive_edge, {.cluster = "1x4", .reloads = true});
  scene.submit({linear_job(1, 0, 4, 100), linear_job(2, 10, 1, 10)});

  scene.run_until(15);

  EXPECT_EQ(scene.share(2), 1);
  EXPECT_EQ(scene.share(1), 3);
  scene.run();
  EXPECT_EQ(scene.finish(2), 20);
  EXPECT_GT(scene.finish(1), 102);  // The chunk that had to wait ends last.
  EXPECT_LE(scene.finish(1), 110);
}

TEST(PreemptiveEdge, LetsOthersUseWorkersThatAJobCannotUseAlone) {
  // The first accepts only four workers; while the second has one of them a third has the rest.
  Scene scene(preemptive_edge, {.cluster = "1x4"});
  Job rigid = linear_job(1, 0, 4, 100);
  rigid.workers.listed = {4};
  scene.submit({rigid, linear_job(2, 0, 1, 10), linear_job(3, 0, 3, 200)});

  scene.run_until(5);

  EXPECT_EQ(scene.share(2), 1);
  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(3), 3);
}

TEST(PreemptiveEdge, SurvivesTheLossOfNodesAndSurprisingSpeeds) {
  Scene scene(preemptive_edge, {.cluster = "2x2", .reloads = true});
  scene.submit({linear_job(1, 0, 4, 100), linear_job(2, 0, 2, 100), linear_job(3, 5, 1, 50)});
  scene.run_until(10);
  scene.set_node(NodeId{0}, false);
  scene.run_until(40);
  for (const std::uint64_t id : {1U, 2U, 3U}) {
    if (scene.share(id) > 0) {
      scene.measure(id, 0.5);
    }
  }
  scene.set_node(NodeId{0}, true);

  scene.run();

  EXPECT_EQ(scene.finishes().size(), 3U);
}

TEST(PreemptiveEdge, RefusesWhatCanRunNowhere) {
  Scene scene(preemptive_edge);
  Job unknown = linear_job(1, 0, 1, 1);
  unknown.gpu_type = "none such";
  scene.submit(unknown);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
}

// On one worker, with all data at hand, highest density first is shortest first: the best there is.
TEST(PreemptiveEdge, OnOneWorkerRunsTheShortestJobsFirst) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::vector<double> lengths;
    Scene scene(preemptive_edge, {.cluster = "1x1", .reloads = seed % 4 == 0});
    for (std::uint64_t id = 1; id <= 8; ++id) {
      lengths.push_back(static_cast<double>(random.integer(1, 50)));
      scene.submit(linear_job(id, 0, 1, lengths.back()));
    }

    scene.run();

    double sum = 0;
    for (const auto& [id, finish] : scene.finishes()) {
      sum += to_seconds(finish);
    }
    std::ranges::sort(lengths);
    double best = 0;
    double clock = 0;
    for (const double length : lengths) {
      clock += length;
      best += clock;
    }
    ASSERT_NEAR(sum, best, 1e-3) << "seed " << seed;
  }
}

TEST(PreemptiveEdge, FinishesEverything) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    Scene scene(preemptive_edge,
                {.cluster = "2x4@edge/2+1x8@cloud/30",
                 .slot_seconds = seed % 2 == 0 ? 0.0 : 5.0,
                 .accounting = seed % 3 == 0 ? ResizeCostModel::Physical : ResizeCostModel::None,
                 .reloads = seed % 5 == 0});
    for (std::uint64_t id = 1; id <= 15; ++id) {
      Job job = linear_job(id, random.uniform(0, 100), static_cast<int>(random.integer(1, 8)),
                           random.uniform(1, 100));
      job.region = random.chance(0.5) ? "edge" : "";
      scene.submit(job);
    }

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 15U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::reconstructed
