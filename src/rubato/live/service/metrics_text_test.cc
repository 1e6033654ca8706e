#include "rubato/live/service/metrics_text.h"

#include <limits>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(MetricsText, WritesFamiliesAndTheirSamples) {
  MetricsText metrics;
  metrics.begin_gauge("rubato_jobs", "Jobs by state.");
  metrics.add({{"state", "RUNNING"}, {"class", "slo"}}, 3);
  metrics.add({}, 0.25);
  metrics.begin_counter("rubato_resizes_total", "Changes of workers.");
  metrics.add({}, 1e15);

  EXPECT_EQ(metrics.text(),
            "# HELP rubato_jobs Jobs by state.\n"
            "# TYPE rubato_jobs gauge\n"
            "rubato_jobs{state=\"RUNNING\",class=\"slo\"} 3\n"
            "rubato_jobs 0.25\n"
            "# HELP rubato_resizes_total Changes of workers.\n"
            "# TYPE rubato_resizes_total counter\n"
            "rubato_resizes_total 1e+15\n");
}

TEST(MetricsText, AHistogramCountsUpToEachBoundAndTheBoundBelongsToIt) {
  HistogramCounts counts({0.1, 1});
  for (const double value : {0.05, 0.1, 0.5, 7.0}) {
    counts.observe(value);
  }
  MetricsText metrics;
  metrics.begin_histogram("rubato_wait_seconds", "Waiting.");
  metrics.add({{"queue", "a"}}, counts);

  EXPECT_EQ(metrics.text(),
            "# HELP rubato_wait_seconds Waiting.\n"
            "# TYPE rubato_wait_seconds histogram\n"
            "rubato_wait_seconds_bucket{queue=\"a\",le=\"0.1\"} 2\n"
            "rubato_wait_seconds_bucket{queue=\"a\",le=\"1\"} 3\n"
            "rubato_wait_seconds_bucket{queue=\"a\",le=\"+Inf\"} 4\n"
            "rubato_wait_seconds_sum{queue=\"a\"} 7.65\n"
            "rubato_wait_seconds_count{queue=\"a\"} 4\n");
}

TEST(MetricsText, EscapesWhatWouldEndALabelOrALine) {
  MetricsText metrics;
  metrics.begin_gauge("a", "back\\slash\nand \"quotes\"");
  metrics.add({{"name", "q\"b\\n\n\xff"}}, 1);

  EXPECT_EQ(metrics.text(),
            "# HELP a back\\\\slash\\nand \"quotes\"\n"
            "# TYPE a gauge\n"
            "a{name=\"q\\\"b\\\\n\\n\xef\xbf\xbd\"} 1\n");
}

TEST(MetricsText, NumbersThatAreNotFiniteHaveWords) {
  MetricsText metrics;
  metrics.begin_gauge("a", "b");
  metrics.add({}, std::numeric_limits<double>::infinity());
  metrics.add({}, -std::numeric_limits<double>::infinity());
  metrics.add({}, std::numeric_limits<double>::quiet_NaN());

  EXPECT_TRUE(metrics.text().ends_with("a +Inf\na -Inf\na NaN\n")) << metrics.text();
}

TEST(MetricsTextDeathTest, BadNamesAndMixedKindsStopTheProcess) {
  MetricsText metrics;
  EXPECT_DEATH(metrics.begin_gauge("no-hyphens", "x"), "is_metric_name");
  EXPECT_DEATH(metrics.begin_counter("rubato_things", "x"), "_total");
  EXPECT_DEATH(metrics.add({}, 1), "Single");
  EXPECT_DEATH(HistogramCounts({1, 1}), "adjacent_find");
}

}  // namespace
}  // namespace rubato
