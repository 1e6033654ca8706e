// The workloads of Pollux (OSDI'21) against the average JCT that its own simulator reports.
//
// Tiresias and Optimus decide as theirs do, so each workload must come out as there. Pollux's own
// search is random, and ours exact: their mean must agree.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/parse.h"
#include "rubato/cli/simulate/profiles_dir.h"
#include "rubato/cli/trace/trace_file.h"
#include "rubato/metrics/summary.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"

namespace rubato {
namespace {

constexpr double kTolerance = 0.03;

/// The average JCTs of one workload, in seconds.
struct Reference {
  std::string workload{};
  double tiresias = 0;
  double optimus = 0;
  double pollux = 0;
};

class PolluxReplay : public testing::Test {
 protected:
  // The public data lies beside the repository on developers' machines only.
  void SetUp() override {
    if (!std::filesystem::exists(kData + "/reference_avg_jct.csv")) {
      GTEST_SKIP() << "no public data beside the repository";
    }
    std::ifstream file(kData + "/reference_avg_jct.csv");
    std::string line;
    std::getline(file, line);
    ASSERT_EQ(line, "workload,tiresias_avg_jct_s,optimus_avg_jct_s,pollux_avg_jct_s");
    while (std::getline(file, line)) {
      std::istringstream cells(line);
      Reference reference;
      std::string cell;
      std::getline(cells, reference.workload, ',');
      for (double* number : {&reference.tiresias, &reference.optimus, &reference.pollux}) {
        std::getline(cells, cell, ',');
        *number = parse_double(cell).value_or(0);
      }
      references_.push_back(reference);
    }
    ASSERT_EQ(references_.size(), 5U);
  }

  // The average JCT of a workload on their cluster: 60 s rounds on a grid, 30 s for each restart.
  static double jct(const std::string& workload, const std::string& policy) {
    const Topology topology = Topology::parse("16x4:T4").value();
    std::vector<Diagnostic> diagnostics;
    const auto jobs = load_trace(kData + "/workloads/" + workload + ".csv", "pollux", diagnostics);
    EXPECT_TRUE(jobs.ok());
    auto profiled = with_profiles(*jobs, kData + "/traces", topology);
    EXPECT_TRUE(profiled.ok());
    SpeedBook speeds(std::move(profiled->rows), topology);
    speeds.add(std::move(profiled->profiles));
    const Workload ready = prepare(std::move(profiled->jobs), speeds);
    const auto result =
        simulate(ready.jobs, topology, speeds,
                 SimOptions{.policy = policy, .restart = std::chrono::seconds{30}, .grid = true});
    EXPECT_TRUE(result.ok()) << result.error().message;
    const Summary summary = summarize(result->history);
    EXPECT_EQ(summary.finished, 160) << workload << " " << policy;
    return summary.jct_avg_seconds;
  }

  static inline const std::string kData = "../shared/data/pollux";
  std::vector<Reference> references_;
};

TEST_F(PolluxReplay, OfTiresiasTakesAsLongAsInTheReferenceSimulator) {
  for (const Reference& reference : references_) {
    EXPECT_NEAR(jct(reference.workload, "tiresias:thresholds=57600"), reference.tiresias,
                kTolerance * reference.tiresias)
        << reference.workload;
  }
}

TEST_F(PolluxReplay, OfOptimusTakesAsLongAsInTheReferenceSimulator) {
  for (const Reference& reference : references_) {
    EXPECT_NEAR(jct(reference.workload, "optimus"), reference.optimus,
                kTolerance * reference.optimus)
        << reference.workload;
  }
}

TEST_F(PolluxReplay, OfPolluxTakesAsLongOnTheMeanAsInTheReferenceSimulator) {
  double ours = 0;
  double theirs = 0;
  for (const Reference& reference : references_) {
    ours += jct(reference.workload, "pollux") / static_cast<double>(references_.size());
    theirs += reference.pollux / static_cast<double>(references_.size());
  }

  EXPECT_NEAR(ours, theirs, kTolerance * theirs);
}

}  // namespace
}  // namespace rubato
