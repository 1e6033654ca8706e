#include "rubato/policy/rounds/pools_fill.h"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/rounds/rank_test.h"

namespace rubato::policy::rounds {
namespace {

struct Placed {
  Rank rank{};
  std::vector<Gang> choices{};
  std::optional<Gang> runs{};
};

struct Outcomes {
  std::vector<JobId> stops{};
  std::map<JobId, Gang> moves{};
  std::map<JobId, Gang> starts{};

  friend bool operator==(const Outcomes&, const Outcomes&) = default;
};

Gang gang(std::uint64_t pool, int workers) { return {.pool = PoolId{pool}, .workers = workers}; }

// The definition: walk all in rank order, whoever finds room has it.
Outcomes plain_walk(std::vector<Placed> jobs, std::vector<int> free, std::int64_t lead) {
  for (Placed& job : jobs) {
    job.rank.value -= job.runs ? lead : 0;
  }
  std::ranges::sort(jobs, {}, &Placed::rank);
  Outcomes outcomes;
  for (const Placed& job : jobs) {
    std::vector<Gang> wanted = job.choices;
    if (job.runs) {
      wanted.insert(wanted.begin(), *job.runs);
    }
    const auto found = std::ranges::find_if(
        wanted, [&](const Gang& each) { return each.workers <= free[each.pool.value]; });
    if (found != wanted.end()) {
      free[found->pool.value] -= found->workers;
    }
    if (found == wanted.end() && job.runs) {
      outcomes.stops.push_back(job.rank.job);
    } else if (found != wanted.end() && !job.runs) {
      outcomes.starts[job.rank.job] = *found;
    } else if (found != wanted.end() && *found != *job.runs) {
      outcomes.moves[job.rank.job] = *found;
    }
  }
  return outcomes;
}

Outcomes filled(const std::vector<Placed>& jobs, const std::vector<int>& capacity,
                std::int64_t lead) {
  PoolsFill fill;
  fill.resize(capacity.size());
  for (const Placed& job : jobs) {
    if (job.runs) {
      fill.run(job.rank, *job.runs, job.choices);
    } else {
      fill.wait(job.rank, job.choices);
    }
  }
  const PoolsFill::Changes changes = fill.fill(capacity, lead);
  Outcomes outcomes{.stops = changes.stops};
  for (const auto& [job, where] : changes.moves) {
    outcomes.moves[job] = where;
  }
  for (const auto& [job, where] : changes.starts) {
    outcomes.starts[job] = where;
  }
  return outcomes;
}

TEST(PoolsFill, StartsInTheFirstChoiceThatHasRoom) {
  const std::vector<Placed> jobs = {{.rank = rank(1, 1), .choices = {gang(1, 2), gang(0, 2)}},
                                    {.rank = rank(2, 2), .choices = {gang(1, 2), gang(0, 2)}},
                                    {.rank = rank(3, 3), .choices = {gang(1, 1)}}};

  const Outcomes outcomes = filled(jobs, {4, 2}, 0);

  EXPECT_EQ(outcomes.starts,
            (std::map<JobId, Gang>{{JobId{1}, gang(1, 2)}, {JobId{2}, gang(0, 2)}}));
}

TEST(PoolsFill, MovesAJobThatIsPushedOutWhereThereIsRoom) {
  const std::vector<Placed> jobs = {
      {.rank = rank(5, 1), .choices = {gang(0, 2), gang(1, 2)}, .runs = gang(0, 2)},
      {.rank = rank(6, 2), .choices = {gang(0, 2)}, .runs = gang(0, 2)},
      {.rank = rank(1, 3), .choices = {gang(0, 4)}}};

  const Outcomes outcomes = filled(jobs, {4, 2}, 0);

  EXPECT_EQ(outcomes.starts, (std::map<JobId, Gang>{{JobId{3}, gang(0, 4)}}));
  EXPECT_EQ(outcomes.moves, (std::map<JobId, Gang>{{JobId{1}, gang(1, 2)}}));
  EXPECT_EQ(outcomes.stops, std::vector{JobId{2}});
}

TEST(PoolsFill, ARunningJobStaysThoughABetterPoolHasRoom) {
  const std::vector<Placed> jobs = {
      {.rank = rank(5, 1), .choices = {gang(0, 2), gang(1, 2)}, .runs = gang(1, 2)}};

  EXPECT_EQ(filled(jobs, {4, 2}, 0), Outcomes{});
}

TEST(PoolsFill, ForgetsErasedJobs) {
  for (const std::size_t pools : {1U, 2U}) {
    PoolsFill fill;
    fill.resize(pools);
    fill.run(rank(1, 1), gang(0, 2), {gang(0, 2)});
    fill.wait(rank(2, 2), {gang(0, 2)});
    fill.erase(JobId{1});
    fill.erase(JobId{7});

    EXPECT_TRUE(fill.running().empty());
    EXPECT_EQ(fill.fill(std::vector<int>(pools, 2)).starts.size(), 1U);
  }
}

TEST(PoolsFill, EqualsThePlainWalkOnRandomLines) {
  int moves = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    const auto pools = static_cast<std::uint64_t>(random.integer(1, 3));
    std::vector<int> capacity;
    for (std::uint64_t pool = 0; pool < pools; ++pool) {
      capacity.push_back(static_cast<int>(random.integer(1, 10)));
    }
    std::vector<int> free = capacity;
    std::vector<Placed> jobs;
    for (std::uint64_t id = 1; id <= 16; ++id) {
      Placed job{.rank = rank(random.integer(0, 12), id)};
      const int workers = static_cast<int>(random.integer(1, random.chance(0.3) ? 8 : 3));
      const auto first = static_cast<std::uint64_t>(random.integer(0, 2)) % pools;
      job.choices.push_back(gang(first, workers));
      for (std::uint64_t pool = 0; pool < pools; ++pool) {
        if (pool != first && random.chance(0.6)) {
          job.choices.push_back(gang(pool, random.chance(0.2) ? workers + 1 : workers));
        }
      }
      const Gang& where = random.chance(0.5) ? job.choices.front() : job.choices.back();
      if (where.workers <= free[where.pool.value] && random.chance(0.6)) {
        free[where.pool.value] -= where.workers;
        job.runs = where;
      }
      jobs.push_back(job);
    }
    if (random.chance(0.2)) {
      capacity.back() = static_cast<int>(random.integer(0, capacity.back()));
    }
    const std::int64_t lead = random.integer(0, 5);

    const Outcomes outcomes = filled(jobs, capacity, lead);

    ASSERT_EQ(outcomes, plain_walk(jobs, capacity, lead)) << "seed " << seed;
    moves += static_cast<int>(outcomes.moves.size());
  }
  EXPECT_GT(moves, 100);
}

}  // namespace
}  // namespace rubato::policy::rounds
