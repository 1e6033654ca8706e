#include "rubato/report/gantt.h"

#include <rapidcheck.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

GanttBar bar(std::uint64_t job, int from, int to, std::vector<GpuRange> ranges, int pool = 0) {
  return {
      .job = JobId{job},
      .from = at_seconds(from),
      .to = at_seconds(to),
      .placement = {.pool = PoolId{static_cast<std::uint64_t>(pool)}, .ranges = std::move(ranges)}};
}

const Topology kMixed = *Topology::parse("2x4:A100+1x2:T4");

TEST(Gantt, JoinsBarsThatFollowEachOtherOnTheSameGpus) {
  const std::vector<GanttBar> bars{bar(1, 5, 9, {{0, 2}}), bar(1, 0, 5, {{0, 2}}),
                                   bar(1, 9, 12, {{0, 1}}), bar(2, 12, 13, {{0, 1}})};

  const Gantt gantt = gantt_rects(bars, kMixed, 100);

  ASSERT_EQ(gantt.rects.size(), 3U);
  EXPECT_EQ(gantt.rects[0],
            (GanttRect{.job = JobId{1}, .from = at_seconds(0), .to = at_seconds(9), .count = 2}));
  EXPECT_EQ(gantt.left_out, 0U);
}

TEST(Gantt, LaysPoolsSideBySide) {
  const std::vector<GanttBar> bars{bar(1, 0, 5, {{1, 1}}, /*pool=*/1)};

  EXPECT_EQ(pool_offsets(kMixed), (std::vector<int>{0, 8}));
  EXPECT_EQ(gantt_rects(bars, kMixed, 100).rects.at(0).first, 9);
}

TEST(Gantt, DropsEmptyBarsAndThenTheSmallest) {
  const std::vector<GanttBar> bars{bar(1, 0, 10, {{0, 1}}), bar(2, 0, 4, {{1, 4}}),
                                   bar(3, 0, 5, {{5, 1}}), bar(4, 3, 3, {{6, 1}})};

  const Gantt gantt = gantt_rects(bars, kMixed, 2);

  ASSERT_EQ(gantt.rects.size(), 2U);
  EXPECT_EQ(gantt.rects[0].job, JobId{1});
  EXPECT_EQ(gantt.rects[1].job, JobId{2});
  EXPECT_EQ(gantt.left_out, 1U);
}

TEST(Gantt, KeepsAllGpuTimeWhenThereIsRoom) {
  EXPECT_TRUE(rc::check([] {
    std::vector<GanttBar> bars;
    double expected = 0;
    const int count = *rc::gen::inRange(0, 30);
    for (int i = 0; i < count; ++i) {
      const int from = *rc::gen::inRange(0, 50);
      const int length = *rc::gen::inRange(0, 20);
      const int gpus = *rc::gen::inRange(1, 4);
      bars.push_back(bar(*rc::gen::inRange<std::uint64_t>(1, 5), from, from + length, {{0, gpus}}));
      expected += length * gpus;
    }

    double kept = 0;
    for (const GanttRect& rect : gantt_rects(bars, kMixed, 1000).rects) {
      kept += to_seconds(rect.to - rect.from) * rect.count;
    }

    RC_ASSERT(std::abs(kept - expected) < 1e-6);
  }));
}

}  // namespace
}  // namespace rubato
