#include "rubato/policy/rounds/priority_fill.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/rounds/rank_test.h"

namespace rubato::policy::rounds {
namespace {

struct Entry {
  Rank rank{};
  int workers = 0;
  bool runs = false;
};

// The definition: walk all in rank order, whoever fits runs.
PriorityFill::Changes plain_walk(std::vector<Entry> entries, int capacity, std::int64_t lead) {
  for (Entry& entry : entries) {
    entry.rank.value -= entry.runs ? lead : 0;
  }
  std::ranges::sort(entries, {}, &Entry::rank);
  PriorityFill::Changes changes;
  for (const Entry& entry : entries) {
    const bool fits = entry.workers <= capacity;
    capacity -= fits ? entry.workers : 0;
    if (fits && !entry.runs) {
      changes.starts.push_back(entry.rank.job);
    } else if (!fits && entry.runs) {
      changes.stops.push_back(entry.rank.job);
    }
  }
  return changes;
}

PriorityFill filled(const std::vector<Entry>& entries) {
  PriorityFill jobs;
  for (const Entry& entry : entries) {
    if (entry.runs) {
      jobs.run(entry.rank, entry.workers);
    } else {
      jobs.wait(entry.rank, entry.workers);
    }
  }
  return jobs;
}

TEST(PriorityFill, StartsTheFirstInLineAndSkipsWhatDoesNotFit) {
  PriorityFill jobs;
  jobs.wait(rank(1, 1), 2);
  jobs.wait(rank(2, 2), 3);
  jobs.wait(rank(3, 3), 2);

  const auto changes = jobs.fill(4);

  EXPECT_EQ(changes.starts, (std::vector{JobId{1}, JobId{3}}));
}

TEST(PriorityFill, StopsTheLastInLineForABetterOne) {
  PriorityFill jobs;
  jobs.run(rank(5, 1), 2);
  jobs.run(rank(6, 2), 2);
  jobs.wait(rank(1, 3), 1);

  const auto changes = jobs.fill(4);

  EXPECT_EQ(changes.starts, (std::vector{JobId{3}}));
  EXPECT_EQ(changes.stops, (std::vector{JobId{2}}));
}

TEST(PriorityFill, FillsTheRestOfAStoppedGang) {
  PriorityFill jobs;
  jobs.run(rank(5, 1), 4);
  jobs.wait(rank(1, 2), 1);
  jobs.wait(rank(9, 3), 3);

  const auto changes = jobs.fill(4);

  EXPECT_EQ(changes.starts, (std::vector{JobId{2}, JobId{3}}));
  EXPECT_EQ(changes.stops, (std::vector{JobId{1}}));
}

TEST(PriorityFill, CountsRunningJobsAheadByTheirLead) {
  PriorityFill jobs;
  jobs.run(rank(100, 1), 1);
  jobs.wait(rank(8, 2), 1);

  EXPECT_EQ(jobs.fill(1, 90).stops.size(), 1U);
  EXPECT_EQ(jobs.fill(1, 93).stops.size(), 0U);
}

TEST(PriorityFill, StopsJobsWhenGpusAreLost) {
  PriorityFill jobs;
  jobs.run(rank(1, 1), 2);
  jobs.run(rank(2, 2), 2);
  jobs.run(rank(3, 3), 1);

  const auto changes = jobs.fill(3);

  EXPECT_EQ(changes.stops, (std::vector{JobId{2}}));
  EXPECT_EQ(jobs.fill(0).stops.size(), 3U);
}

TEST(PriorityFill, ForgetsErasedJobs) {
  PriorityFill jobs;
  jobs.run(rank(1, 1), 2);
  jobs.wait(rank(2, 2), 2);
  jobs.erase(JobId{1});
  jobs.erase(JobId{7});

  EXPECT_EQ(jobs.fill(2).starts, (std::vector{JobId{2}}));
  EXPECT_EQ(jobs.running_gpus(), 0);
}

TEST(PriorityFill, EqualsThePlainWalkOnRandomLines) {
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    const int capacity = static_cast<int>(random.integer(1, 24));
    const int lost = random.chance(0.1) ? static_cast<int>(random.integer(0, capacity)) : 0;
    const auto lead = random.integer(0, 5);
    int free = capacity;
    std::vector<Entry> entries;
    for (std::uint64_t id = 1; id <= 20; ++id) {
      const int workers = static_cast<int>(random.integer(1, random.chance(0.3) ? 12 : 3));
      const bool runs = workers <= free && random.chance(0.6);
      free -= runs ? workers : 0;
      entries.push_back({rank(random.integer(0, 12), id), workers, runs});
    }

    const auto changes = filled(entries).fill(capacity - lost, lead);

    const auto expected = plain_walk(entries, capacity - lost, lead);
    ASSERT_EQ(changes.starts, expected.starts) << "seed " << seed;
    ASSERT_EQ(changes.stops, expected.stops) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::rounds
