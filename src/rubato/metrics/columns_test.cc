#include "rubato/metrics/columns.h"

#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Columns, HaveTheFixedNamesFirstInTheirFixedOrder) {
  const std::vector<std::string_view> expected{"jobs",
                                               "admitted",
                                               "refused",
                                               "finished",
                                               "deadline_jobs",
                                               "deadline_met",
                                               "deadline_met_ratio",
                                               "deadline_upper_bound",
                                               "promises_broken",
                                               "jct_avg_seconds",
                                               "jct_p50_seconds",
                                               "jct_p99_seconds",
                                               "makespan_seconds",
                                               "gpu_utilization",
                                               "cluster_efficiency",
                                               "finish_time_fairness_max",
                                               "total_value",
                                               "resizes",
                                               "migrations",
                                               "decisions"};

  std::vector<std::string_view> fixed;
  for (const SummaryColumn& column : summary_columns()) {
    if (column.is_fixed) {
      fixed.push_back(column.name);
    }
  }

  EXPECT_EQ(fixed, expected);
}

TEST(Columns, CoverEveryFieldOnce) {
  std::set<std::string_view> names;
  std::set<const void*> fields;
  const Summary summary;
  for (const SummaryColumn& column : summary_columns()) {
    names.insert(column.name);
    fields.insert(std::visit(
        [&](auto field) { return static_cast<const void*>(&(summary.*field)); }, column.field));
  }

  EXPECT_EQ(names.size(), summary_columns().size());
  EXPECT_EQ(fields.size(), summary_columns().size());
  // All fields are eight bytes wide, so a new one without a column shows here.
  EXPECT_EQ(sizeof(Summary), 8 * summary_columns().size());
}

TEST(Columns, ReadCountsAndNumbersAlike) {
  const Summary summary{.jobs = 3, .jct_avg_seconds = 1.5};

  for (const SummaryColumn& column : summary_columns()) {
    if (column.name == "jobs") {
      EXPECT_EQ(value_of(summary, column), 3);
    } else if (column.name == "jct_avg_seconds") {
      EXPECT_EQ(value_of(summary, column), 1.5);
    }
  }
}

}  // namespace
}  // namespace rubato
