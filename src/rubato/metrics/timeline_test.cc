#include "rubato/metrics/timeline.h"

#include <rapidcheck.h>

#include <gtest/gtest.h>

#include "rubato/metrics/history_builder_test.h"

namespace rubato {
namespace {

const Bins kFour{.from = at_seconds(0), .to = at_seconds(40), .count = 4};

TEST(Timeline, CutsTimeIntoEqualBins) {
  EXPECT_EQ(kFour.edge(0), at_seconds(0));
  EXPECT_EQ(kFour.edge(1), at_seconds(10));
  EXPECT_EQ(kFour.edge(4), at_seconds(40));
}

TEST(Timeline, EndsAtItsEndHoweverLongItIs) {
  EXPECT_TRUE(rc::check([] {
    const auto span = *rc::gen::inRange<std::int64_t>(1, kLongest.count());
    const auto count = *rc::gen::inRange<std::size_t>(1, 500);
    const Bins bins{.from = at_seconds(3), .to = at_seconds(3) + Duration{span}, .count = count};

    RC_ASSERT(bins.edge(0) == bins.from);
    RC_ASSERT(bins.edge(count) == bins.to);
    for (std::size_t i = 0; i < count; ++i) {
      RC_ASSERT(bins.edge(i) <= bins.edge(i + 1));
    }
  }));
}

TEST(Timeline, AveragesTheUseInEachBinUntilTheRunEnds) {
  History history{.end = at_seconds(25)};
  history.use = {{.at = at_seconds(5), .gpus_used = 4, .gpus_up = 4},
                 {.at = at_seconds(20), .gpus_used = 1, .gpus_up = 4}};

  const auto line = utilization_over_time(history, kFour);

  EXPECT_EQ(line, (std::vector<double>{0.5, 1, 0.25}));
}

TEST(Timeline, CountsADeadlineFromTheMomentItComes) {
  History history;
  JobRecord met = finished_job(1, 0, 8);
  met.deadline = at_seconds(20);
  JobRecord missed = finished_job(2, 0, 30);
  missed.deadline = at_seconds(15);
  JobRecord late = finished_job(3, 0, 30);
  late.deadline = at_seconds(1000);
  history.jobs = {met, missed, late, finished_job(4, 0, 1)};

  const auto line = deadlines_over_time(history, kFour);

  const std::vector<DeadlineCount> expected{{0, 0}, {2, 1}, {2, 1}, {3, 2}};
  EXPECT_EQ(line, expected);
}

}  // namespace
}  // namespace rubato
