#include "rubato/report/standings.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

RunReport run_of(std::string policy, Summary summary) {
  return {.policy = std::move(policy), .summary = std::move(summary)};
}

const Measure& measure_of(const TraceStanding& standing, std::string_view name) {
  const auto sources = column_sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].name == name) {
      return standing.measures[i];
    }
  }
  ADD_FAILURE() << "no column " << name;
  return standing.place;
}

// Differs from its kind only in what is judged.
Summary summary_with(double jct, double efficiency) {
  return {.jobs = 10, .finished = 10, .jct_avg_seconds = jct, .cluster_efficiency = efficiency};
}

TEST(Standings, APlaceIsTheMeanRankInTheJudgedColumns) {
  const std::vector<RunReport> runs{run_of("a", summary_with(1, 0.5)),
                                    run_of("b", summary_with(2, 0.9)),
                                    run_of("c", summary_with(3, 0.1))};

  const auto standings = standings_of(runs);

  // Six columns are judged without deadlines; in four of them all are second.
  EXPECT_DOUBLE_EQ(standings[0].place.value.mean, (1 + 2 + 4 * 2.0) / 6);
  EXPECT_DOUBLE_EQ(standings[1].place.value.mean, (2 + 1 + 4 * 2.0) / 6);
  EXPECT_DOUBLE_EQ(standings[2].place.value.mean, (3 + 3 + 4 * 2.0) / 6);
}

TEST(Standings, PlacesAddUpWhateverTheNumbers) {
  Random random(3);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<RunReport> runs;
    const auto players = static_cast<std::size_t>(random.integer(1, 9));
    for (std::size_t i = 0; i < players; ++i) {
      Summary summary = summary_with(static_cast<double>(random.integer(1, 4)),
                                     static_cast<double>(random.integer(0, 3)) / 3);
      summary.finished = random.integer(0, 10);
      summary.deadline_jobs = 5;
      summary.deadline_met_ratio = static_cast<double>(random.integer(0, 3)) / 3;
      runs.push_back(run_of("p", summary));
    }

    double sum = 0;
    for (const TraceStanding& standing : standings_of(runs)) {
      EXPECT_GE(standing.place.value.mean, 1);
      EXPECT_LE(standing.place.value.mean, static_cast<double>(players));
      sum += standing.place.value.mean;
    }

    const auto n = static_cast<double>(players);
    ASSERT_NEAR(sum, n * (n + 1) / 2, 1e-9) << "trial " << trial;
  }
}

TEST(Standings, WhoFinishesFewJobsComesLastByTheirTimes) {
  RunReport picky = run_of("picky", summary_with(1, 0.5));
  picky.summary.finished = 9;
  const std::vector<RunReport> runs{picky, run_of("slow", summary_with(50, 0.5))};

  const auto standings = standings_of(runs);

  EXPECT_FALSE(measure_of(standings[0], "jct_avg_seconds").is_comparable);
  EXPECT_TRUE(measure_of(standings[0], "cluster_efficiency").is_comparable);
  EXPECT_GT(standings[0].place.value.mean, standings[1].place.value.mean);
}

TEST(Standings, AFailureHasNoPlaceAndTakesNone) {
  RunReport failed = run_of("failed", {});
  failed.failure = "why";
  const std::vector<RunReport> runs{failed, run_of("only", summary_with(50, 0.5))};

  const auto standings = standings_of(runs);

  EXPECT_FALSE(standings[0].place.is_known);
  EXPECT_FALSE(measure_of(standings[0], "jct_avg_seconds").is_known);
  EXPECT_EQ(standings[1].place.value.mean, 1);
}

TEST(OverTraces, AveragesRatiosToTheBestGeometrically) {
  // On the first trace b takes 4 times as long as a, on the second a takes as long as b.
  const std::vector<std::vector<TraceStanding>> traces{
      standings_of(
          std::vector{run_of("a", summary_with(10, 0.2)), run_of("b", summary_with(40, 0.4))}),
      standings_of(
          std::vector{run_of("a", summary_with(7000, 0.6)), run_of("b", summary_with(7000, 0.8))})};

  const auto whole = over_traces(traces);

  ASSERT_EQ(whole.size(), 2U);
  EXPECT_DOUBLE_EQ(measure_of(whole[0], "jct_avg_seconds").value.mean, 1);
  EXPECT_DOUBLE_EQ(measure_of(whole[1], "jct_avg_seconds").value.mean, 2);
  EXPECT_DOUBLE_EQ(measure_of(whole[1], "cluster_efficiency").value.mean, 0.6);
  EXPECT_FALSE(measure_of(whole[1], "jct_avg_seconds").has_width);
  EXPECT_DOUBLE_EQ(whole[0].place.value.mean,
                   (traces[0][0].place.value.mean + traces[1][0].place.value.mean) / 2);
}

TEST(OverTraces, TheBestIsOneThatCanBeCompared) {
  RunReport picky = run_of("picky", summary_with(1, 0.5));
  picky.summary.finished = 1;
  const auto trace = standings_of(std::vector{picky, run_of("a", summary_with(10, 0.5))});
  const std::vector<std::vector<TraceStanding>> traces{trace, trace};

  const auto whole = over_traces(traces);

  EXPECT_DOUBLE_EQ(measure_of(whole[0], "jct_avg_seconds").value.mean, 0.1);
  EXPECT_FALSE(measure_of(whole[0], "jct_avg_seconds").is_comparable);
  EXPECT_DOUBLE_EQ(measure_of(whole[1], "jct_avg_seconds").value.mean, 1);
}

TEST(OverTraces, OneFailureIsAFailure) {
  RunReport failed = run_of("a", {});
  failed.failure = "why";
  const std::vector<std::vector<TraceStanding>> traces{
      standings_of(std::vector{failed}),
      standings_of(std::vector{run_of("a", summary_with(1, 1))})};

  EXPECT_EQ(over_traces(traces)[0].failure, "no numbers on 1 of 2 traces");
  EXPECT_TRUE(over_traces({}).empty());
}

TEST(OverTraces, HasAConfidenceIntervalFromThreeTracesOn) {
  std::vector<std::vector<TraceStanding>> traces;
  for (const double jct : {20.0, 40.0, 80.0}) {
    traces.push_back(standings_of(
        std::vector{run_of("a", summary_with(10, 0.2)), run_of("b", summary_with(jct, 0.2))}));
  }

  const Measure number = measure_of(over_traces(traces)[1], "jct_avg_seconds");

  EXPECT_TRUE(number.has_width);
  EXPECT_NEAR(number.value.mean, 4, 1e-12);
  // Logarithms ln 2, ln 4, ln 8: deviation ln 2, error ln 2 / sqrt(3), t = 4.303.
  EXPECT_NEAR(number.value.half_width, 4 * (std::exp(4.303 * std::log(2) / std::sqrt(3)) - 1),
              1e-9);
}

TEST(GeometricInterval, OfNothingOrOfZeroIsZero) {
  const std::array samples{2.0, 0.0};

  EXPECT_EQ(geometric_interval(samples), Interval{});
  EXPECT_EQ(geometric_interval({}), Interval{});
}

TEST(Columns, OfTheComparisonHaveNamesOfTheirOwn) {
  std::vector<std::string_view> names;
  for (const ColumnSource& source : column_sources()) {
    names.push_back(source.name);
    EXPECT_FALSE(source.column.meaning.empty()) << source.name;
    EXPECT_TRUE(!source.is_judged() || source.column.better != Better::Neither) << source.name;
  }
  std::ranges::sort(names);

  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace rubato
