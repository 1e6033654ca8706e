#include "rubato/core/job_table.h"

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

using Ids = std::vector<std::uint64_t>;

Job job(std::uint64_t id) {
  return {.id = JobId{id},
          .name = std::to_string(id),
          .job_class = JobClass::Soft,
          .arrival = at_seconds(static_cast<double>(id))};
}

Ids ids(const JobTable& table) {
  Ids found;
  table.for_each([&](const JobState& state) { found.push_back(state.id().value); });
  return found;
}

TEST(JobTable, WalksInIdOrderHoweverJobsCameIn) {
  JobTable table;
  for (const std::uint64_t id : Ids{5, 1, 9, 3}) {
    table.insert(job(id));
  }

  EXPECT_EQ(ids(table), (Ids{1, 3, 5, 9}));
  EXPECT_EQ(table.size(), 4U);
}

TEST(JobTable, StartsAJobFromWhatItsOwnerSaid) {
  JobTable table;
  const JobState& state = table.insert(job(7));

  EXPECT_EQ(state.job_class, JobClass::Soft);
  EXPECT_EQ(state.progress.since, at_seconds(7));
  EXPECT_EQ(state.usage.since, at_seconds(7));
  EXPECT_EQ(state.job.name, "7");
}

TEST(JobTable, FindsOnlyActiveJobs) {
  JobTable table;
  table.insert(job(1));
  table.insert(job(2));
  table.erase(JobId{1});

  EXPECT_EQ(table.find(JobId{1}), nullptr);
  EXPECT_EQ(table.find(JobId{2}), &table.at(JobId{2}));
  EXPECT_EQ(ids(table), (Ids{2}));
}

TEST(JobTable, ForgetsAllAboutAnErasedJobWhoseIdComesAgain) {
  JobTable table;
  table.insert(job(1)).share = 8;
  table.erase(JobId{1});

  EXPECT_EQ(table.insert(job(1)).share, 0);
  EXPECT_EQ(ids(table), (Ids{1}));
}

TEST(JobTable, KeepsReferencesValidWhileOthersComeAndGo) {
  JobTable table;
  JobState& kept = table.insert(job(1000));
  for (std::uint64_t id = 0; id < 500; ++id) {
    table.insert(job(id));
  }
  for (std::uint64_t id = 0; id < 500; ++id) {
    table.erase(JobId{id});
  }

  EXPECT_EQ(&table.at(JobId{1000}), &kept);
  EXPECT_EQ(kept.job.name, "1000");
}

TEST(JobTable, CopiesIntoATableOfItsOwn) {
  JobTable table;
  table.insert(job(1));
  table.insert(job(2));
  table.erase(JobId{1});
  JobTable copy = table;
  copy.at(JobId{2}).share = 4;
  copy.insert(job(3));
  table.erase(JobId{2});

  EXPECT_EQ(ids(table), Ids{});
  EXPECT_EQ(ids(copy), (Ids{2, 3}));
  EXPECT_EQ(copy.at(JobId{2}).share, 4);
  table = copy;
  table.erase(JobId{3});
  EXPECT_EQ(ids(copy), (Ids{2, 3}));
  const JobTable moved = std::move(copy);
  EXPECT_EQ(ids(moved), (Ids{2, 3}));
}

TEST(JobTable, AgreesWithAMapOverRandomHistories) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    JobTable table;
    std::map<std::uint64_t, std::string> truth;
    for (int step = 0; step < 200; ++step) {
      const auto id = static_cast<std::uint64_t>(random.integer(0, 60));
      if (truth.erase(id) > 0) {
        table.erase(JobId{id});
      } else {
        table.insert(job(id));
        truth.emplace(id, std::to_string(id));
      }
    }

    Ids expected;
    for (const auto& [id, name] : truth) {
      expected.push_back(id);
      ASSERT_EQ(table.at(JobId{id}).job.name, name) << "seed " << seed;
    }
    ASSERT_EQ(ids(table), expected) << "seed " << seed;
  }
}

TEST(JobTableDeathTest, StopsAtUnknownAndDoubledIds) {
  JobTable table;
  table.insert(job(1));

  EXPECT_DEATH(table.insert(job(1)), "does not hold");
  EXPECT_DEATH(table.erase(JobId{2}), "does not hold");
  EXPECT_DEATH(static_cast<void>(table.at(JobId{2})), "does not hold");
}

}  // namespace
}  // namespace rubato
