// Test support for policies that stretch jobs: curves, random jobs and worlds for them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy {

/// Rows of a model whose every further worker adds `part` of what the one before added.
[[nodiscard]] inline std::vector<SpeedRow> falling_speeds(std::string_view model, double part,
                                                          int workers_max,
                                                          std::string_view gpu_type = "") {
  std::vector<SpeedRow> rows;
  double speed = 0;
  double gain = 1;
  for (int gpus = 1; gpus <= workers_max; ++gpus) {
    speed += gain;
    gain *= part;
    rows.push_back(SpeedRow{.gpu_type = std::string(gpu_type),
                            .model = std::string(model),
                            .batch = 1,
                            .gpus = gpus,
                            .speed = speed});
  }
  return rows;
}

/// Speeds 1, 1.5, 2 of the model `linear` on 1, 2, 4 GPUs, and slower again on 8.
[[nodiscard]] inline std::vector<SpeedRow> concave_speeds(std::string_view gpu_type = "",
                                                          double factor = 1) {
  std::vector<SpeedRow> rows;
  for (const auto& [gpus, speed] : {std::pair(1, 1.0), {2, 1.5}, {4, 2.0}, {8, 1.9}}) {
    rows.push_back(SpeedRow{.gpu_type = std::string(gpu_type),
                            .model = "linear",
                            .batch = 1,
                            .gpus = gpus,
                            .speed = speed * factor});
  }
  return rows;
}

[[nodiscard]] inline std::vector<SpeedRow> joined(std::vector<SpeedRow> rows,
                                                  const std::vector<SpeedRow>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

/// A job of this many steps.
[[nodiscard]] inline Job model_job(std::uint64_t id, double arrival, std::string_view model,
                                   double work) {
  Job job = linear_job(id, arrival, 1, work);
  job.model = model;
  return job;
}

/// Jobs of the models `steep` and `flat`, which `mixed_speeds` knows.
[[nodiscard]] inline std::vector<Job> random_elastic_jobs(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<Job> jobs;
  for (int id = 1; id <= count; ++id) {
    Job job = model_job(static_cast<std::uint64_t>(id), static_cast<double>(random.integer(0, 60)),
                        random.chance(0.5) ? "steep" : "flat",
                        static_cast<double>(random.integer(1, 60)));
    job.requested = static_cast<int>(random.integer(1, 4));
    job.tenant = random.chance(0.5) ? "a" : "b";
    jobs.push_back(job);
  }
  return jobs;
}

[[nodiscard]] inline std::vector<SpeedRow> mixed_speeds(std::string_view gpu_type = "") {
  return joined(falling_speeds("steep", 0.5, 8, gpu_type),
                falling_speeds("flat", 0.9, 8, gpu_type));
}

/// Runs random jobs with and without saving and loading before each call, losing a node on the
/// way; true if all jobs finish, each at the same moment both times.
[[nodiscard]] inline bool reloads_exactly(const Scene::Make& make, std::uint64_t seed) {
  std::vector<std::map<JobId, Instant>> finishes;
  for (const bool reloads : {false, true}) {
    Scene scene(make, {.cluster = "2x4:x+1x4:y",
                       .slot_seconds = 2,
                       .accounting = ResizeCostModel::Physical,
                       .speeds = joined(mixed_speeds("x"), mixed_speeds("y")),
                       .reloads = reloads});
    scene.submit(random_elastic_jobs(seed, 16));
    scene.run_until(30);
    scene.set_node(NodeId{0}, false);
    scene.run_until(50);
    scene.set_node(NodeId{0}, true);
    scene.run();
    finishes.push_back(scene.finishes());
  }
  return finishes[0] == finishes[1] && finishes[0].size() == 16;
}

}  // namespace rubato::policy
