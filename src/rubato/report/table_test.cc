#include "rubato/report/table.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

std::vector<RunReport> two_runs() {
  RunReport good{.policy = "rubato",
                 .summary = {.jobs = 10,
                             .admitted = 10,
                             .finished = 10,
                             .deadline_jobs = 8,
                             .deadline_met_ratio = 0.875,
                             .deadline_upper_bound = 1,
                             .deadline_met_gpu_hours_ratio = 0.9,
                             .promises = 8,
                             .jct_avg_seconds = 5400,
                             .jct_p99_seconds = 36000,
                             .makespan_seconds = 90000,
                             .gpu_utilization = 0.8,
                             .cluster_efficiency = 0.6,
                             .resizes = 15},
                 .decision_p99_seconds = 0.00025};
  RunReport plain = good;
  plain.policy = "fifo";
  plain.summary.deadline_met_ratio = 0.5;
  plain.summary.promises = 0;
  plain.summary.resizes = 0;
  plain.decision_p99_seconds = 0.00005;
  return {good, plain};
}

TEST(Table, IsAlignedByteForByte) {
  const std::string expected =
      "        deadlines                          promises       jobs     JCT          "
      " makespan     GPUs                 resizes   decision\n"
      "policy      met %   bound %   by GPU-h %     broken   finished   avg h   p99 h  "
      "        h   used %   efficient %   per job     p99 us\n"
      "rubato       87.5*    100.0         90.0          0         10    1.50    10.0  "
      "     25.0     80.0          60.0      1.50        250\n"
      "fifo         50.0     100.0         90.0          -         10    1.50    10.0  "
      "     25.0     80.0          60.0      0.00         50*\n"
      "JCT, p99: finished jobs only. bound: no scheduler can meet more deadlines. *: be"
      "st.\n";

  EXPECT_EQ(table_report(two_runs()), expected);
}

TEST(Table, WithColourMarksTheBestInBoldGreen) {
  const std::string text = table_report(two_runs(), {.use_colour = true});

  EXPECT_NE(text.find("\x1b[1;32m87.5\x1b[0m"), std::string::npos);
  EXPECT_EQ(text.find('*'), std::string::npos);
}

TEST(Table, ShowsConfidenceOverSeeds) {
  std::vector<RunReport> runs = two_runs();
  for (RunReport& run : runs) {
    run.seeds = {run.summary, run.summary};
    run.seeds[1].jct_avg_seconds += 36;
  }

  const std::string text = table_report(runs);

  EXPECT_NE(text.find("1.50 ±0.06"), std::string::npos) << text;
  EXPECT_NE(text.find("Mean of 2 seeds ±95% confidence."), std::string::npos);
}

TEST(Table, ANameCannotMoveTheCursor) {
  std::vector<RunReport> runs = two_runs();
  runs[0].policy = "evil\x1b[2J\n";

  const std::string text = table_report(runs);

  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("evil?[2J?"), std::string::npos);
}

TEST(Table, OfNothingIsOnlyItsHead) {
  EXPECT_EQ(table_report({}), "\npolicy\nJCT, p99: finished jobs only.\n");
}

}  // namespace
}  // namespace rubato
