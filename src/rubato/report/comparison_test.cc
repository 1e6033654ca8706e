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
      return table.groups.front().rows[row].cells[i];
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

TEST(Comparison, LeavesTimesOfFewJobsOutOfTheContest) {
  const std::vector<RunReport> runs{
      run_with({.jobs = 100, .finished = 94, .jct_avg_seconds = 60, .gpu_utilization = 0.9}),
      run_with({.jobs = 100, .finished = 95, .jct_avg_seconds = 120, .gpu_utilization = 0.8}),
      run_with({.jobs = 100, .finished = 100, .jct_avg_seconds = 180, .gpu_utilization = 0.8})};

  const Comparison table = compare(runs, Detail::Terminal);

  EXPECT_FALSE(cell_of(table, 0, "JCT", "avg").is_best);
  EXPECT_FALSE(cell_of(table, 0, "JCT", "avg").is_comparable);
  EXPECT_TRUE(cell_of(table, 1, "JCT", "avg").is_best);
  EXPECT_TRUE(cell_of(table, 0, "GPUs", "used").is_best);
}

TEST(Comparison, AFailureHasNoCellsAndIsNotCompared) {
  std::vector<RunReport> runs{run_with({.makespan_seconds = 3600}),
                              run_with({.makespan_seconds = 7200}), run_with({})};
  runs[2].failure = "no such speed";

  const Comparison table = compare(runs, Detail::Terminal);

  EXPECT_TRUE(cell_of(table, 0, "makespan", "").is_best);
  EXPECT_EQ(table.groups[0].rows[2].failure, "no such speed");
  EXPECT_TRUE(table.groups[0].rows[2].cells.empty());
}

RunGroup group_of(std::string trace, double noise, double first_jct, double second_jct) {
  RunGroup group{.trace = std::move(trace), .noise = noise};
  for (const double jct : {first_jct, second_jct}) {
    group.runs.push_back(run_with({.jobs = 5, .finished = 5, .jct_avg_seconds = jct}));
    group.runs.back().policy = group.runs.size() == 1 ? "first" : "second";
  }
  return group;
}

TEST(Tournament, HasAGroupForEachTraceAndNoiseAndOneOverAllTraces) {
  const std::vector<RunGroup> groups{
      group_of("a/x.csv", 0, 60, 120), group_of("a/x.csv", 0.2, 9, 9),
      group_of("a/y.csv", 0, 60, 120), group_of("a/y.csv", 0.2, 9, 9)};

  const Comparison table = tournament(groups, Detail::Tournament);

  ASSERT_EQ(table.groups.size(), 6U);
  EXPECT_EQ(table.groups[0].title, "x.csv, exact speeds: 5 jobs");
  EXPECT_EQ(table.groups[3].title, "y.csv, speeds off by 20%: 5 jobs");
  EXPECT_EQ(table.groups[4].title, "all 2 traces, exact speeds");
  EXPECT_TRUE(table.groups[5].is_over_traces);
  EXPECT_EQ(table.columns.front().group, "place");
}

TEST(Tournament, PutsTheBestPlaceFirstAndFailuresLast) {
  RunGroup group = group_of("x", 0, 120, 60);
  group.runs.insert(group.runs.begin(), {.policy = "broken", .failure = "why"});

  const Comparison table = tournament(std::vector{group}, Detail::Tournament);

  ASSERT_EQ(table.groups.size(), 1U);
  EXPECT_EQ(table.groups[0].rows[0].policy, "second");
  EXPECT_EQ(table.groups[0].rows[1].policy, "first");
  EXPECT_EQ(table.groups[0].rows[2].policy, "broken");
}

TEST(Tournament, ShowsOneUnitPerColumnAndRatiosOverTraces) {
  const std::vector<RunGroup> groups{group_of("x", 0, 3600, 7200), group_of("y", 0, 36000, 72000)};

  const Comparison table = tournament(groups, Detail::Tournament);

  EXPECT_EQ(cell_of(table, 0, "JCT", "avg").text, "1.00");
  const auto jct = std::ranges::find_if(table.columns,
                                        [](const ComparisonColumn& column) {
                                          return column.group == "JCT" && column.title == "avg";
                                        }) -
                   table.columns.begin();
  const auto at = static_cast<std::size_t>(jct);
  EXPECT_EQ(table.columns[at].unit, "h");
  EXPECT_EQ(table.groups[1].rows[1].cells[at].text, "20.0");
  EXPECT_EQ(table.groups[2].rows[0].cells[at].text, "1.00x");
  EXPECT_EQ(table.groups[2].rows[1].cells[at].text, "2.00x");
}

TEST(Tournament, DoesNotSpellOutIntervalsThatSayNothing) {
  const std::vector<RunGroup> groups{group_of("x", 0, 1, 2), group_of("y", 0, 1, 50),
                                     group_of("z", 0, 1, 9000)};

  const Comparison table = tournament(groups, Detail::Tournament);

  for (const ComparisonCell& cell : table.groups[3].rows[1].cells) {
    EXPECT_LE(cell.plus_minus.size(), 7U) << cell.plus_minus;
  }
  EXPECT_EQ(table.groups[3].rows[1].policy, "second");
}

TEST(Tournament, NamesTracesByTheirFolderWhereFilesHaveTheSameName) {
  const std::vector<RunGroup> groups{group_of("a/x", 0, 1, 2), group_of("b/x", 0, 1, 2)};

  const Comparison table = tournament(groups, Detail::Tournament);

  EXPECT_EQ(table.groups[0].trace, "a/x");
  EXPECT_EQ(table.groups[1].trace, "b/x");
}

TEST(Comparison, OfNothingIsEmpty) {
  const Comparison table = compare({}, Detail::Full);

  EXPECT_TRUE(table.groups.front().rows.empty());
}

}  // namespace
}  // namespace rubato
