// Test support: random jobs that ask for a fixed number of GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy {

/// The largest values to draw; times are whole seconds.
struct GangLimits {
  std::uint64_t jobs = 12;
  int arrival = 20;
  int gpus = 4;
  int seconds = 9;
};

[[nodiscard]] inline std::vector<Job> random_gangs(std::uint64_t seed, const GangLimits& limits) {
  Random random(seed);
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= limits.jobs; ++id) {
    jobs.push_back(linear_job(id, static_cast<double>(random.integer(0, limits.arrival)),
                              static_cast<int>(random.integer(1, limits.gpus)),
                              static_cast<double>(random.integer(1, limits.seconds))));
  }
  return jobs;
}

}  // namespace rubato::policy
