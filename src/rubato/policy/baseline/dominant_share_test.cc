#include "rubato/policy/baseline/dominant_share.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::baseline {
namespace {

// Serves users with tasks that are all alike until the poorest one does not fit, or nobody does.
std::vector<std::size_t> serve(DominantShares& shares,
                               const std::vector<std::vector<double>>& demands, bool strict) {
  std::vector<std::size_t> order;
  std::vector<bool> is_served(demands.size(), true);
  for (std::size_t user = shares.poorest(is_served); user < demands.size();
       user = shares.poorest(is_served)) {
    if (shares.fits(demands[user])) {
      shares.give(user, demands[user]);
      order.push_back(user);
    } else if (strict) {
      break;
    } else {
      is_served[user] = false;
    }
  }
  return order;
}

TEST(DominantShares, MatchTheExampleOfThePaper) {
  DominantShares shares({9, 18}, {1, 1});

  const auto order = serve(shares, {{1, 4}, {3, 1}}, /*strict=*/true);

  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(shares.free(0), 0);
  EXPECT_EQ(shares.free(1), 4);
  EXPECT_DOUBLE_EQ(shares.share(0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(shares.share(1), 2.0 / 3);
}

TEST(DominantShares, FollowTheWeights) {
  DominantShares shares({12}, {2, 1});

  serve(shares, {{1}, {1}}, /*strict=*/true);

  EXPECT_DOUBLE_EQ(shares.share(0), 8.0 / 12 / 2);
  EXPECT_DOUBLE_EQ(shares.share(1), 4.0 / 12);
}

TEST(DominantShares, StopOrSkipWhatDoesNotFit) {
  DominantShares strict({4}, {1, 1});
  DominantShares skipping({4}, {1, 1});

  EXPECT_EQ(serve(strict, {{3}, {1}}, true), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(serve(skipping, {{4}, {3}}, false), (std::vector<std::size_t>{0}));
  EXPECT_EQ(serve(skipping = DominantShares({5}, {1, 1}), {{3}, {1}}, false),
            (std::vector<std::size_t>{0, 1, 1}));
}

// Computed from scratch: the dominant share of `tasks` tasks.
double dominant(const std::vector<double>& capacity, const std::vector<double>& demand,
                std::ptrdiff_t tasks) {
  double share = 0;
  for (std::size_t r = 0; r < capacity.size(); ++r) {
    share = std::max(share, static_cast<double>(tasks) * demand[r] / capacity[r]);
  }
  return share;
}

// Nobody is ahead of another by more than its last task, and who is last in the end does not fit.
TEST(DominantShares, KeepUsersWithinOneTaskOfEachOtherOnRandomDemands) {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    std::vector<double> capacity;
    std::vector<std::vector<double>> demands(3);
    for (int r = 0; r < 3; ++r) {
      capacity.push_back(static_cast<double>(random.integer(20, 60)));
      for (auto& demand : demands) {
        demand.push_back(static_cast<double>(random.integer(0, 5)));
      }
    }
    for (auto& demand : demands) {
      demand[0] = std::max(demand[0], 1.0);
    }
    DominantShares shares(capacity, {1, 1, 1});

    const auto order = serve(shares, demands, /*strict=*/true);

    const auto tasks = [&](std::size_t user) { return std::ranges::count(order, user); };
    for (std::size_t user = 0; user < 3; ++user) {
      const double own = dominant(capacity, demands[user], tasks(user));
      ASSERT_NEAR(shares.share(user), own, 1e-9);
      for (std::size_t other = 0; other < 3; ++other) {
        const double before = dominant(capacity, demands[other], tasks(other) - 1);
        ASSERT_TRUE(tasks(other) == 0 || before <= own + 1e-9) << i;
      }
    }
    ASSERT_FALSE(shares.fits(demands[shares.poorest({true, true, true})])) << i;
  }
}

}  // namespace
}  // namespace rubato::policy::baseline
