#include "rubato/policy/gavel/fair_finish.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/gavel/two_pool_oracle_test.h"

namespace rubato::policy::gavel {
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

// Whether all jobs can reach this ratio in one pool or two.
bool is_reachable(const std::vector<Finisher>& finishers, const std::vector<int>& capacity,
                  double ratio) {
  std::vector<TwoPoolNeed> needs;
  double used = 0;  // If there is one pool.
  for (const Finisher& finisher : finishers) {
    const double fair =
        finisher.fair_so_far + finisher.work / fair_speed(finisher, finishers.size(), capacity);
    const double time_left = ratio * fair - finisher.elapsed;
    const double speed = finisher.work / time_left;
    if (time_left <= 0 || (capacity.size() == 1 && speed > finisher.speeds[0])) {
      return false;
    }
    used += finisher.gpus[0] * speed / finisher.speeds[0];
    if (capacity.size() > 1) {
      needs.push_back({.worth = speed,
                       .gains = {finisher.speeds[0], finisher.speeds[1]},
                       .gpus = {1.0 * finisher.gpus[0], 1.0 * finisher.gpus[1]}});
    }
  }
  return capacity.size() == 1 ? used <= capacity[0] : can_serve(needs, capacity[0], capacity[1]);
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
}  // namespace rubato::policy::gavel
