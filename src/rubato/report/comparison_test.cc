#include "rubato/report/comparison.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rubato {
namespace {

// The cell of a column, by group and title.
ComparisonCell cell_of(const Comparison& table, std::size_t row, std::string_view group,
                       std::string_view title) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].group == group && table.columns[i].title == title) {
      return table.rows[row].cells[i];
    }
  }
  ADD_FAILURE() << "no column " << group << " " << title;
  return {};
}

bool has_group(const Comparison& table, std::string_view group) {
  return std::ranges::any_of(table.columns,
                             [&](const ComparisonColumn& column) { return column.group == group; });
}

RunReport run_with(Summary summary) { return {.policy = "p", .summary = std::move(summary)}; }

TEST(Comparison, MarksTheBestOfEachColumn) {
  const std::vector<RunReport> runs{
      run_with({.deadline_jobs = 2, .deadline_met_ratio = 0.5, .jct_avg_seconds = 3600}),
      run_with({.deadline_jobs = 2, .deadline_met_ratio = 1, .jct_avg_seconds = 7200})};

  const Comparison table = compare(runs, Detail::Terminal);

  EXPECT_FALSE(cell_of(table, 0, "deadlines", "met").is_best);
  EXPECT_TRUE(cell_of(table, 1, "deadlines", "met").is_best);
  EXPECT_TRUE(cell_of(table, 0, "JCT", "avg").is_best);
  EXPECT_EQ(cell_of(table, 0, "JCT", "avg").text, "1.00");
  EXPECT_FALSE(cell_of(table, 1, "deadlines", "bound").is_best);
}

TEST(Comparison, NothingIsBestWhereAllReadTheSame) {
  const std::vector<RunReport> runs{run_with({.makespan_seconds = 3600}),
                                    run_with({.makespan_seconds = 3600.001})};

  const Comparison table = compare(runs, Detail::Terminal);

  EXPECT_FALSE(cell_of(table, 0, "makespan", "").is_best);
  EXPECT_FALSE(cell_of(table, 1, "makespan", "").is_best);
}

TEST(Comparison, APolicyWithoutPromisesBreaksNone) {
  const std::vector<RunReport> runs{run_with({.promises = 9, .promises_broken = 1}),
                                    run_with({.promises = 9, .promises_broken = 2}), run_with({})};

  const Comparison table = compare(runs, Detail::Terminal);

  EXPECT_TRUE(cell_of(table, 0, "promises", "broken").is_best);
  EXPECT_FALSE(cell_of(table, 2, "promises", "broken").is_known);
  EXPECT_EQ(cell_of(table, 2, "promises", "broken").text, "-");
}

TEST(Comparison, LeavesOutWhatNoRunHas) {
  const std::vector<RunReport> runs{run_with({})};

  EXPECT_FALSE(has_group(compare(runs, Detail::Full), "deadlines"));
  EXPECT_FALSE(has_group(compare(runs, Detail::Full), "promises"));
  EXPECT_TRUE(has_group(compare(runs, Detail::Full), "slowdown"));
  EXPECT_FALSE(has_group(compare(runs, Detail::Terminal), "slowdown"));
}

TEST(Comparison, OverSeedsShowsMeanAndHalfWidth) {
  RunReport run = run_with({.finished = 1});
  run.seeds = {{.finished = 1}, {.finished = 3}};
  run.decision_p99_seconds = 0.001;
  const std::vector<RunReport> runs{run};

  const Comparison table = compare(runs, Detail::Terminal);

  EXPECT_EQ(table.seeds, 2U);
  EXPECT_EQ(cell_of(table, 0, "jobs", "finished").text, "2");
  EXPECT_EQ(cell_of(table, 0, "jobs", "finished").plus_minus, "13");
  EXPECT_EQ(cell_of(table, 0, "decision", "p99").plus_minus, "");
}

TEST(Comparison, OfNothingIsEmpty) {
  const Comparison table = compare({}, Detail::Full);

  EXPECT_TRUE(table.rows.empty());
}

}  // namespace
}  // namespace rubato
