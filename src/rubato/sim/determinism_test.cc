// Same seed, same bytes: in every run and, since this runs in all of them, in every build type.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "rubato/base/parse.h"
#include "rubato/metrics/summary.h"
#include "rubato/policy/registry.h"
#include "rubato/predict/speed_table.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {
namespace {

constexpr const char* kGolden = "tests/golden/summaries.txt";

std::vector<Job> jobs_of(const std::vector<SpeedRow>& rows) {
  const auto speed = [&rows](const ModelChoice& choice, int gpus) {
    for (const SpeedRow& row : rows) {
      if (row.model == choice.model && row.batch == choice.batch && row.gpus == gpus) {
        return row.speed;
      }
    }
    return 0.0;
  };
  auto generator = Generator::make(
      GeneratorOptions{.jobs = 80,
                       .seed = 11,
                       .cluster_gpus = 32,
                       .load = 0.9,
                       .arrivals = ArrivalKind::Bursty,
                       .best_effort = 0.2,
                       .soft = 0.1,
                       .models = {{"convnet", 128}, {"language", 256}, {"ranking", 512}},
                       .speed = speed});
  std::vector<Job> jobs;
  while (auto job = generator->next()) {
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

// One line per run with every number that does not depend on a real clock.
std::string line_of(const std::string& name, const Summary& summary) {
  return fmt::format(
      "{}: met {} of {} broken {} finished {} jct {} makespan {} used {} resizes {} "
      "moves {} decisions {} rounds {}\n",
      name, summary.deadline_met, summary.deadline_jobs, summary.promises_broken, summary.finished,
      shortest(summary.jct_avg_seconds), shortest(summary.makespan_seconds),
      shortest(summary.gpu_utilization), summary.resizes, summary.migrations, summary.decisions,
      summary.rounds);
}

std::string all_lines() {
  const std::vector<SpeedRow> rows = sample_speeds();
  const Topology topology = *Topology::parse("4x8");
  SpeedBook speeds(rows, topology);
  const Workload workload = prepare(jobs_of(rows), speeds);
  std::string lines;
  for (const PolicyInfo& policy : all_policies()) {
    for (const ResizeCostModel accounting :
         {ResizeCostModel::None, ResizeCostModel::Physical, ResizeCostModel::Artifact}) {
      for (const bool faults : {false, true}) {
        SimOptions options{.policy = std::string(policy.name), .accounting = accounting, .seed = 3};
        if (faults) {
          options.faults = FaultOptions{.node_mtbf = 400'000,
                                        .worker_mtbf = 300'000,
                                        .straggler_mtbf = 300'000,
                                        .noise = 0.05};
        }
        const auto result = simulate(workload.jobs, topology, speeds, options);
        const std::string name =
            fmt::format("{} {} {}", policy.name, to_string(accounting), faults ? "faults" : "calm");
        lines += result ? line_of(name, summarize(result->history))
                        : fmt::format("{}: {}\n", name, result.error().message);
      }
    }
  }
  return lines;
}

TEST(Determinism, EveryPolicyGivesTheRecordedNumbers) {
  const std::string lines = all_lines();

  if (std::getenv("RUBATO_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kGolden) << lines;
  }
  std::ostringstream golden;
  golden << std::ifstream(kGolden).rdbuf();
  EXPECT_EQ(lines, golden.str()) << "if this is meant: RUBATO_UPDATE_GOLDEN=1 build/sim_test";
}

}  // namespace
}  // namespace rubato
