#include "rubato/policy/fair_finish.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/two_pool_oracle_test.h"

namespace rubato {
namespace {

std::vector<Finisher> random_finishers(Random& random, std::size_t pools) {
  std::vector<Finisher> finishers;
  for (int i = 0; i < random.integer(1, 6); ++i) {
    Finisher finisher{.elapsed = random.uniform(0, 100),
                      .work = random.uniform(1, 50),
                      .fair_so_far = random.uniform(0, 100)};
    for (std::size_t pool = 0; pool < pools; ++pool) {
      finisher.speeds.push_back(random.uniform(0.5, 3));
      finisher.gpus.push_back(static_cast<int>(random.integer(1, 4)));
    }
    finishers.push_back(finisher);
  }
  return finishers;
}

// Whether all jobs can reach this ratio; with one pool the second is one that nobody gains from.
bool is_reachable(const std::vector<Finisher>& finishers, const std::vector<int>& capacity,
                  double ratio) {
  constexpr double kNothing = 1e-12;
  std::vector<TwoPoolNeed> needs;
  for (const Finisher& finisher : finishers) {
    const double fair =
        finisher.fair_so_far + finisher.work / fair_speed(finisher, finishers.size(), capacity);
    const double time_left = ratio * fair - finisher.elapsed;
    if (time_left <= 0) {
      return false;
    }
    const bool has_two = capacity.size() > 1;
    needs.push_back({.worth = finisher.work / time_left,
                     .gains = {finisher.speeds[0], has_two ? finisher.speeds[1] : kNothing},
                     .gpus = {1.0 * finisher.gpus[0], has_two ? 1.0 * finisher.gpus[1] : 1.0}});
  }
  return can_serve(needs, capacity[0], capacity.size() > 1 ? capacity[1] : kNothing);
}

TEST(FairFinish, EqualJobsAreExactlyFair) {
  const Finisher job{.speeds = {2}, .gpus = {1}, .work = 10};

  const FairFinish best = fairest_finish(std::vector<Finisher>{job, job}, std::vector<int>{1});

  EXPECT_NEAR(best.ratio, 1, 1e-6);
  EXPECT_NEAR(best.fractions[0][0], 0.5, 1e-6);
}

// One job has waited 10 s for nothing: (10 + 10/x) / 20 = (10/(1-x)) / 20 at x = 0.618.
TEST(FairFinish, FavoursWhoHasWaited) {
  const Finisher waited{.speeds = {1}, .gpus = {1}, .elapsed = 10, .work = 10};
  const Finisher fresh{.speeds = {1}, .gpus = {1}, .work = 10};

  const FairFinish best = fairest_finish(std::vector<Finisher>{waited, fresh}, std::vector<int>{1});

  EXPECT_NEAR(best.fractions[0][0], 0.618034, 1e-5);
  EXPECT_NEAR(best.ratio, (10 + 10 / 0.618034) / 20, 1e-5);
}

TEST(FairFinish, NoLowerRatioIsReachable) {
  Random random(5);
  for (int trial = 0; trial < 2'000; ++trial) {
    const std::size_t pools = trial % 2 == 0 ? 1 : 2;
    const std::vector<Finisher> finishers = random_finishers(random, pools);
    const std::vector<int> capacity(pools, static_cast<int>(random.integer(4, 8)));

    const FairFinish best = fairest_finish(finishers, capacity);

    EXPECT_TRUE(is_reachable(finishers, capacity, best.ratio * 1.0001)) << "trial " << trial;
    EXPECT_FALSE(is_reachable(finishers, capacity, best.ratio * 0.999)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace rubato
