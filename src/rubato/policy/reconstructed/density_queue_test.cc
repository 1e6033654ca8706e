#include "rubato/policy/reconstructed/density_queue.h"

#include <algorithm>
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::reconstructed {
namespace {

using testing::ElementsAre;

// Of a job with `siblings` chunks of `length` seconds, which arrives now and needs `upload`
// seconds.
Chunk chunk_of(double now, double length, int siblings, double upload, std::uint64_t order) {
  return {.length = from_seconds(length),
          .siblings = siblings,
          .left = from_seconds(length),
          .ready = at_seconds(now + upload),
          .order = order};
}

// The specification's jobs A, B and C on two edge workers and the cloud.
TEST(DensityQueue, CostsWhatTheSpecificationSays) {
  std::array<ChunkQueue, 2> edge;
  const Chunk a = chunk_of(1, 6, 2, 1, 1);
  EXPECT_DOUBLE_EQ(joining_cost(edge[0], a, at_seconds(1)), 3.5);
  EXPECT_DOUBLE_EQ(joining_cost({}, chunk_of(1, 5, 2, 10, 1), at_seconds(1)), 7.5);  // Cloud.
  EXPECT_THAT(assign_chunks(edge, a, at_seconds(1)), ElementsAre(0, 1));

  for (ChunkQueue& queue : edge) {
    queue = queue_at(queue, at_seconds(1), at_seconds(3));
  }
  const Chunk b = chunk_of(3, 2, 2, 1, 2);
  EXPECT_DOUBLE_EQ(joining_cost(edge[1], b, at_seconds(3)), 2.5);
  EXPECT_THAT(assign_chunks(edge, b, at_seconds(3)), ElementsAre(0, 1));

  for (ChunkQueue& queue : edge) {
    queue = queue_at(queue, at_seconds(3), at_seconds(4));
  }
  EXPECT_DOUBLE_EQ(joining_cost(edge[0], chunk_of(4, 60, 2, 1, 3), at_seconds(4)), 33);
  EXPECT_DOUBLE_EQ(joining_cost({}, chunk_of(4, 30, 2, 10, 3), at_seconds(4)), 20);
}

TEST(DensityQueue, RunsTheDensestChunkThatIsReady) {
  const ChunkQueue queue = {chunk_of(0, 6, 1, 0, 1), chunk_of(0, 2, 1, 3, 2)};

  const ChunkQueue later = queue_at(queue, at_seconds(0), at_seconds(4));

  ASSERT_EQ(later.size(), 2U);
  EXPECT_EQ(later[0].left, from_seconds(3));
  EXPECT_EQ(later[1].left, from_seconds(1));
  EXPECT_TRUE(queue_at(queue, at_seconds(0), at_seconds(8)).empty());
}

TEST(DensityQueue, ASecondChunkOnTheSameWorkerWaitsForTheFirst) {
  std::array<ChunkQueue, 1> one;

  EXPECT_THAT(assign_chunks(one, chunk_of(0, 4, 2, 0, 1), at_seconds(0)), ElementsAre(0, 0));
  EXPECT_EQ(queue_at(one[0], at_seconds(0), at_seconds(6)).size(), 1U);
  EXPECT_THAT(assign_chunks({}, chunk_of(0, 4, 2, 0, 1), at_seconds(0)), ElementsAre());
}

// The sum over chunks of finish over siblings, by playing the queue to its end second by second.
double weighted_finishes(ChunkQueue queue, int now) {
  double sum = 0;
  while (!queue.empty()) {
    auto best = queue.end();
    for (auto each = queue.begin(); each != queue.end(); ++each) {
      const bool can = each->ready <= at_seconds(now);
      best = can && (best == queue.end() || each->goes_before(*best)) ? each : best;
    }
    ++now;
    if (best != queue.end()) {
      best->left -= from_seconds(1);
      if (best->left <= Duration{}) {
        sum += static_cast<double>(now) / best->siblings;
        queue.erase(best);
      }
    }
  }
  return sum;
}

// Q is exactly what the sum grows by, if all data are there.
TEST(DensityQueue, TheCostIsWhatTheChunkAddsToAllDelays) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    ChunkQueue queue;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(random.integer(0, 5)); ++i) {
      Chunk chunk = chunk_of(0, static_cast<double>(random.integer(1, 9)),
                             static_cast<int>(random.integer(1, 4)), 0, i);
      chunk.left = from_seconds(static_cast<double>(
          random.integer(1, static_cast<std::int64_t>(to_seconds(chunk.length)))));
      queue.push_back(chunk);
    }
    const Chunk chunk = chunk_of(0, static_cast<double>(random.integer(1, 9)),
                                 static_cast<int>(random.integer(1, 4)), 0, 99);
    ChunkQueue with = queue;
    with.push_back(chunk);

    ASSERT_NEAR(joining_cost(queue, chunk, at_seconds(0)),
                weighted_finishes(with, 0) - weighted_finishes(queue, 0), 1e-9)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::reconstructed
