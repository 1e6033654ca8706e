#include "rubato/policy/afs/pair_sharing.h"

#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/afs/worker_steps.h"

namespace rubato::policy::afs {
namespace {

bool by_length(const PairContender& challenger, const PairContender& leader) {
  return beats_by_length(challenger.bid, leader.bid);
}

// Falling returns: no GPU adds more than the one before.
ScalingCurve random_concave_curve(Random& random, int workers_max) {
  std::vector<ScalingPoint> points;
  double speed = 0;
  double gain = 1;
  for (int workers = 1; workers <= workers_max; ++workers) {
    speed += gain;
    gain *= random.uniform(0.7, 1);
    points.push_back({.workers = workers, .speed = speed});
  }
  return ScalingCurve(std::move(points));
}

/// Sharers and the steps they borrow.
struct Group {
  std::vector<std::vector<ScalingPoint>> steps{};
  std::vector<Sharer> sharers{};
};

Group random_group(Random& random, int count) {
  Group group;
  for (int i = 0; i < count; ++i) {
    const int workers_max = static_cast<int>(random.integer(1, 24));
    const ScalingCurve curve = random_concave_curve(random, workers_max);
    const auto usable = usable_steps(curve, 64);
    group.steps.push_back(random.chance(0.5)
                              ? packed_steps(curve, 64, 4)
                              : std::vector<ScalingPoint>(usable.begin(), usable.end()));
  }
  for (const auto& steps : group.steps) {
    group.sharers.push_back(Sharer{.steps = steps, .work = random.uniform(1, 1000)});
  }
  return group;
}

std::vector<int> workers_of(const std::vector<Sharer>& sharers) {
  std::vector<int> workers;
  for (const Sharer& sharer : sharers) {
    workers.push_back(sharer.now().workers);
  }
  return workers;
}

// As the paper has it: from nothing, one block after the other.
std::vector<int> slow_path(std::vector<Sharer> sharers, int gpus) {
  share_by_pairs(sharers, gpus, by_length);
  return workers_of(sharers);
}

std::vector<int> fast_path(std::vector<Sharer> sharers, int gpus) {
  std::vector<std::size_t> order(sharers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sharers[i].smallest_length(); });
  const int left = give_smallest(sharers, order, gpus);
  share_by_pairs(sharers, left, by_length);
  return workers_of(sharers);
}

TEST(PairSharing, GivesTheShorterOfTwoLikeJobsTheOddGpu) {
  const std::vector<ScalingPoint> steps = {{1, 1}, {2, 1.8}, {3, 2.4}};
  std::vector<Sharer> sharers = {{.steps = steps, .work = 20}, {.steps = steps, .work = 10}};

  const int left = share_by_pairs(sharers, 5, by_length);

  EXPECT_EQ(workers_of(sharers), (std::vector<int>{2, 3}));
  EXPECT_EQ(left, 0);
}

TEST(PairSharing, SkipsABlockThatDoesNotFit) {
  const std::vector<ScalingPoint> wide = {{4, 4}, {8, 8}};
  const std::vector<ScalingPoint> narrow = {{1, 1}, {2, 1.1}};
  std::vector<Sharer> sharers = {{.steps = wide, .work = 1}, {.steps = narrow, .work = 100}};

  const int left = share_by_pairs(sharers, 7, by_length);

  EXPECT_EQ(workers_of(sharers), (std::vector<int>{4, 2}));
  EXPECT_EQ(left, 1);
}

TEST(PairSharing, LeavesOverWhatNobodyCanUse) {
  const std::vector<ScalingPoint> steps = {{1, 1}};
  std::vector<Sharer> sharers = {{.steps = steps, .work = 5}, {.work = 5}};

  EXPECT_EQ(share_by_pairs(sharers, 3, by_length), 2);
  EXPECT_EQ(share_by_pairs({}, 3, by_length), 3);
}

TEST(PairSharing, DependsOnTheOrderOnlyInACircle) {
  const std::vector<ScalingPoint> x = {{1, 1}, {2, 1.4}};
  const std::vector<ScalingPoint> y = {{1, 1}, {2, 1.6}};
  const std::vector<ScalingPoint> z = {{1, 1}, {2, 1.8}};
  const auto job = [](const std::vector<ScalingPoint>& steps, double work) {
    return Sharer{.steps = steps, .work = work, .taken = 1};
  };
  std::vector<Sharer> forward = {job(x, 1), job(y, 2), job(z, 3)};
  std::vector<Sharer> backward = {job(z, 3), job(y, 2), job(x, 1)};

  share_by_pairs(forward, 1, by_length);
  share_by_pairs(backward, 1, by_length);

  // x beats y, z beats x; the other way round y beats z, x beats y.
  EXPECT_EQ(workers_of(forward), (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(workers_of(backward), (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(forward[2].work, 3);
  EXPECT_EQ(backward[2].work, 1);
}

TEST(PairSharing, TheFastPathEqualsTheSlowOneOnRandomConcaveJobs) {
  Random random(3);
  int overloaded = 0;
  for (int i = 0; i < 700; ++i) {
    const Group group = random_group(random, static_cast<int>(random.integer(1, 20)));
    const std::vector<Sharer>& sharers = group.sharers;
    const int gpus = static_cast<int>(random.integer(1, 40));
    overloaded += static_cast<int>(sharers.size()) >= gpus ? 1 : 0;

    ASSERT_EQ(fast_path(sharers, gpus), slow_path(sharers, gpus)) << i;
  }
  EXPECT_GT(overloaded, 50);
}

// The scan as the paper has it, always from the first job on.
std::vector<int> by_whole_scans(std::vector<Sharer> sharers, int gpus) {
  while (true) {
    std::optional<std::size_t> leader;
    for (std::size_t i = 0; i < sharers.size(); ++i) {
      if (sharers[i].can_grow() && sharers[i].next_gpus() <= gpus &&
          (!leader ||
           by_length(contender_of(sharers[i], i), contender_of(sharers[*leader], *leader)))) {
        leader = i;
      }
    }
    if (!leader) {
      return workers_of(sharers);
    }
    gpus -= sharers[*leader].next_gpus();
    ++sharers[*leader].taken;
  }
}

TEST(PairSharing, EqualsWholeScansOnRandomJobs) {
  Random random(5);
  for (int i = 0; i < 700; ++i) {
    const Group group = random_group(random, static_cast<int>(random.integer(1, 20)));
    const int gpus = static_cast<int>(random.integer(1, 80));

    ASSERT_EQ(slow_path(group.sharers, gpus), by_whole_scans(group.sharers, gpus)) << i;
  }
}

TEST(PairSharing, KeepsItsLimitsOnTenThousandRandomJobs) {
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    const Group group = random_group(random, 20);
    const std::vector<Sharer>& sharers = group.sharers;
    const int gpus = static_cast<int>(random.integer(1, 200));

    const std::vector<int> workers = fast_path(sharers, gpus);

    ASSERT_EQ(workers, fast_path(sharers, gpus));
    const int used = std::accumulate(workers.begin(), workers.end(), 0);
    ASSERT_LE(used, gpus);
    for (std::size_t j = 0; j < sharers.size(); ++j) {
      const auto& steps = sharers[j].steps;
      const auto here = std::ranges::find(steps, workers[j], &ScalingPoint::workers);
      ASSERT_TRUE(workers[j] == 0 || here != steps.end());
      // Nothing is left lying that someone could take.
      const auto next = workers[j] == 0 ? steps.begin() : here + 1;
      ASSERT_TRUE(next == steps.end() || next->workers - workers[j] > gpus - used);
    }
  }
}

TEST(WorkerSteps, KeepFactorsAndMultiplesOfANode) {
  std::vector<ScalingPoint> points;
  for (int workers = 1; workers <= 20; ++workers) {
    points.push_back({.workers = workers, .speed = 1.0 * workers});
  }
  const ScalingCurve curve(points);

  std::vector<int> counts;
  for (const ScalingPoint& step : packed_steps(curve, 18, 4)) {
    counts.push_back(step.workers);
  }

  EXPECT_EQ(counts, (std::vector<int>{1, 2, 4, 8, 12, 16}));
  EXPECT_EQ(usable_steps(curve, 18).size(), 18U);
}

TEST(WorkerSteps, KeepAllIfNoneIsAFactorOrMultiple) {
  const ScalingCurve curve({{.workers = 3, .speed = 3}, {.workers = 5, .speed = 5}});

  EXPECT_EQ(packed_steps(curve, 18, 4).size(), 2U);
  EXPECT_EQ(packed_steps(curve, 2, 4).size(), 0U);
}

}  // namespace
}  // namespace rubato::policy::afs
