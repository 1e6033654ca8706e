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
      " makespan     GPUs                 per job   decision\n"
      "policy      met %   bound %   by GPU-h %     broken   finished   avg h   p99 h  "
      "        h   used %   efficient %   resizes     p99 us\n"
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

TEST(Table, GoesOnBelowWhereTheTerminalEnds) {
  const std::string text = table_report(two_runs(), {.width = 60});

  std::size_t heads = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    heads += line.starts_with("policy") ? 1U : 0U;
    EXPECT_TRUE(line.size() <= 60 || line.starts_with("JCT, p99")) << line;
    at = end + 1;
  }
  EXPECT_EQ(heads, 3U) << text;
  EXPECT_EQ(table_report(two_runs(), {.width = 500}), table_report(two_runs()));
}

TEST(Table, SaysOnceWhyAPolicyFailed) {
  std::vector<RunReport> runs = two_runs();
  runs[1].failure = "policy fifo at 3 s: it broke";

  const std::string text = table_report(runs, {.width = 60});

  const std::size_t at = text.find("fifo    failed: policy fifo at 3 s: it broke\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("failed", at + 20), std::string::npos);
}

TEST(Table, OfATournamentIsAlignedByteForByte) {
  std::vector<RunGroup> groups;
  for (const char* trace : {"x", "y"}) {
    groups.push_back({.trace = trace, .runs = two_runs()});
    for (RunReport& run : groups.back().runs) {
      run.summary.jct_p50_seconds = 3600;
      run.summary.finish_time_fairness_p99 = 2;
      run.summary.total_value = run.summary.value_offered = 10;
      run.decision_p50_seconds = 0.00001;
    }
    groups.back().runs[1].summary.finished = 9;
  }
  const std::string expected =
      "        place   deadlines     jobs     JCT                   makespan     GPUs      "
      "             rho            value   per job              decision\n"
      "policy   mean       met %   done %   avg h   p50 h   p99 h          h   used %   eff"
      "icient %     p99   fair %   got %   resizes   restarts     p50 us   p99 us\n"
      "\n"
      "x, exact speeds: 10 jobs, 100.0% of 8 deadlines can be met at all\n"
      "rubato   1.21*       87.5*   100.0*   1.50    1.00    10.0       25.0     80.0      "
      "    60.0       2    100.0   100.0      1.50          0       10.0      250\n"
      "fifo     1.79        50.0     90.0    1.50†   1.00†   10.0†      25.0†    80.0      "
      "    60.0       2†   100.0   100.0      0.00          0       10.0       50*\n"
      "\n"
      "y, exact speeds: 10 jobs, 100.0% of 8 deadlines can be met at all\n"
      "rubato   1.21*       87.5*   100.0*   1.50    1.00    10.0       25.0     80.0      "
      "    60.0       2    100.0   100.0      1.50          0       10.0      250\n"
      "fifo     1.79        50.0     90.0    1.50†   1.00†   10.0†      25.0†    80.0      "
      "    60.0       2†   100.0   100.0      0.00          0       10.0       50*\n"
      "\n"
      "all 2 traces, exact speeds\n"
      "rubato   1.21*       87.5*   100.0*  1.00x   1.00x   1.00x      1.00x     80.0      "
      "    60.0   1.00x    100.0   100.0      1.50          0      1.00x    5.00x\n"
      "fifo     1.79        50.0     90.0   1.00x†  1.00x†  1.00x†     1.00x†    80.0      "
      "    60.0   1.00x†   100.0   100.0      0.00          0      1.00x    1.00x*\n"
      "\n"
      "JCT, p99: finished jobs only. *: best.\n"
      "†: finished far fewer jobs than others; its times are not compared.\n"
      "place: mean rank by deadlines met, JCT avg and p99, makespan, efficiency, fairness a"
      "nd value.\n"
      "fair: share of all jobs done at most 10% later than with an equal share (rho <= 1.1)"
      ".\n"
      "all traces: x is times the best policy of the trace, geometric mean; the rest are me"
      "ans.\n";

  EXPECT_EQ(tournament_table(groups), expected);
}

TEST(Table, OfNothingIsOnlyItsHead) {
  EXPECT_EQ(table_report({}), "\npolicy\nJCT, p99: finished jobs only.\n");
}

}  // namespace
}  // namespace rubato
