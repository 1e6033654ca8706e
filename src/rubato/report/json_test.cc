#include "rubato/report/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/report_builder_test.h"

namespace rubato {
namespace {

RunReport one_run() {
  return {.policy = "tiresias:thresholds=3250/7200",
          .summary = {.jobs = 3,
                      .admitted = 2,
                      .refused = 1,
                      .finished = 2,
                      .deadline_jobs = 2,
                      .deadline_met = 1,
                      .deadline_met_ratio = 0.5,
                      .deadline_upper_bound = 1,
                      .deadline_met_gpu_hours_ratio = 0.25,
                      .promises = 1,
                      .jct_avg_seconds = 12.5,
                      .jct_p50_seconds = 10,
                      .jct_p99_seconds = 15,
                      .makespan_seconds = 40,
                      .gpu_utilization = 0.75,
                      .cluster_efficiency = 0.625,
                      .finish_time_fairness_max = 1.5,
                      .total_value = 2,
                      .resizes = 4,
                      .decisions = 9,
                      .rounds = 5},
          .decision_p50_seconds = 0.001,
          .decision_p99_seconds = 0.002,
          .decision_max_seconds = 0.004,
          .wall_seconds = 0.5,
          .peak_rss_bytes = 1048576};
}

constexpr std::string_view kGolden = R"({
  "version": "0.1.0",
  "trace": "t.csv",
  "cluster": "2x4",
  "seed": 7,
  "results": [
    {
      "policy": "tiresias:thresholds=3250/7200",
      "jobs": 3,
      "admitted": 2,
      "refused": 1,
      "finished": 2,
      "deadline_jobs": 2,
      "deadline_met": 1,
      "deadline_met_ratio": 0.5,
      "deadline_upper_bound": 1.0,
      "promises_broken": 0,
      "jct_avg_seconds": 12.5,
      "jct_p50_seconds": 10.0,
      "jct_p99_seconds": 15.0,
      "makespan_seconds": 40.0,
      "gpu_utilization": 0.75,
      "cluster_efficiency": 0.625,
      "finish_time_fairness_max": 1.5,
      "total_value": 2.0,
      "resizes": 4,
      "migrations": 0,
      "decisions": 9,
      "decision_p50_seconds": 0.001,
      "decision_p99_seconds": 0.002,
      "decision_max_seconds": 0.004,
      "wall_seconds": 0.5,
      "peak_rss_bytes": 1048576,
      "rounds": 5,
      "promises": 1,
      "deadline_met_gpu_hours_ratio": 0.25,
      "best_effort_jct_avg_seconds": 0.0,
      "finish_time_fairness_avg": 0.0,
      "finish_time_fairness_p99": 0.0,
      "fair_ratio": 1.0,
      "value_offered": 0.0,
      "restarts": 0,
      "slowdown_avg": 0.0,
      "slowdown_p99": 0.0,
      "quote_error_p50": 0.0,
      "quote_error_p90": 0.0
    }
  ],
  "overhead": "none",
  "slot_seconds": 60.0,
  "command": "rubato sim --trace t.csv",
  "provenance": [
    "speeds: measured"
  ]
}
)";

TEST(JsonReport, IsTheDocumentedOneByteForByte) {
  const std::vector<RunGroup> runs{{.runs = {one_run()}}};

  EXPECT_EQ(json_report(plain_header(), runs), kGolden);
}

TEST(JsonReport, OverSeedsHoldsMeansAndHalfWidths) {
  RunReport run = one_run();
  run.seeds = {run.summary, run.summary};
  run.seeds[1].resizes = 7;
  const std::vector<RunGroup> runs{{.runs = {run}}};

  const auto row = nlohmann::json::parse(json_report(plain_header(), runs))["results"][0];

  EXPECT_EQ(row["seeds"], 2);
  EXPECT_EQ(row["jobs"], 3);
  EXPECT_EQ(row["resizes"], 5.5);
  EXPECT_DOUBLE_EQ(row["ci"]["resizes"], 12.706 * 1.5);
  EXPECT_EQ(row["ci"]["jobs"], 0);
}

TEST(JsonReport, TakesAnyBytesForAName) {
  RunReport run = one_run();
  run.policy = "\xff\"</script>";
  const std::vector<RunGroup> runs{{.runs = {run}}};

  const auto report = nlohmann::json::parse(json_report(plain_header(), runs));

  EXPECT_EQ(report["results"][0]["policy"], "\xEF\xBF\xBD\"</script>");
}

TEST(JsonReport, SaysTraceAndNoiseWhereTheyDifferAndGivesMeansOverTraces) {
  RunReport slow = one_run();
  slow.policy = "slow";
  slow.summary.jct_avg_seconds *= 2;
  const std::vector<RunGroup> groups{{.trace = "a", .runs = {one_run(), slow}},
                                     {.trace = "b", .runs = {one_run(), slow}}};

  const auto report = nlohmann::json::parse(json_report(plain_header(), groups));

  EXPECT_EQ(report["results"].size(), 4U);
  EXPECT_EQ(report["results"][2]["trace"], "b");
  EXPECT_FALSE(report["results"][0].contains("noise"));
  ASSERT_EQ(report["aggregate"].size(), 2U);
  EXPECT_EQ(report["aggregate"][1]["policy"], "slow");
  EXPECT_EQ(report["aggregate"][1]["traces"], 2);
  EXPECT_DOUBLE_EQ(report["aggregate"][1]["over_best"]["jct_avg_seconds"], 2);
  EXPECT_DOUBLE_EQ(report["aggregate"][1]["mean"]["deadline_met_ratio"], 0.5);
  EXPECT_GT(report["aggregate"][1]["place"], report["aggregate"][0]["place"]);
}

TEST(JsonReport, SaysWhyARunFailed) {
  RunReport failed;
  failed.policy = "p";
  failed.failure = "why";
  const std::vector<RunGroup> groups{{.noise = 0, .runs = {failed}},
                                     {.noise = 0.2, .runs = {failed}}};

  const auto row = nlohmann::json::parse(json_report(plain_header(), groups))["results"][1];

  EXPECT_EQ(row["error"], "why");
  EXPECT_EQ(row["noise"], 0.2);
  EXPECT_FALSE(row.contains("jobs"));
}

TEST(JsonReport, WithoutRunsHasNoResults) {
  const auto report = nlohmann::json::parse(json_report({}, {}));

  EXPECT_TRUE(report["results"].is_array());
  EXPECT_TRUE(report["results"].empty());
}

}  // namespace
}  // namespace rubato
