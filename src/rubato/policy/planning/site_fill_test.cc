#include "rubato/policy/planning/site_fill.h"

#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::planning {
namespace {

using Offers = std::vector<SiteOffer>;

SiteOffer site(int workers, int servers, double worker_price, double server_price) {
  return {workers, servers, worker_price, server_price};
}

Crew with_servers(int workers, double per_worker = 1) {
  return {.workers = workers, .has_servers = true, .servers_per_worker = per_worker};
}

Crew all_reduce(int workers) { return {.workers = workers}; }

TEST(Crew, NeedsServersForTheTrafficOfRemoteWorkers) {
  EXPECT_EQ(with_servers(4, 0.5).servers(3), 2);
  EXPECT_EQ(with_servers(4, 0.5).servers(2), 1);
  EXPECT_EQ(with_servers(4).servers(0), 1);
}

TEST(Together, TakesTheCheapestSiteThatHoldsAll) {
  const Offers offers = {site(4, 1, 3, 1), site(2, 0, 1, 1), site(2, 1, 2, 2), site(1, 1, 0, 0)};

  const auto found = together_cheapest(offers, with_servers(2));

  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers, (std::vector<SiteCount>{{2, 2}}));
  EXPECT_EQ(found->servers, (SiteCount{2, 1}));
  EXPECT_EQ(found->cost, 6);
  EXPECT_EQ(together_cheapest(offers, all_reduce(2))->workers, (std::vector<SiteCount>{{1, 2}}));
  EXPECT_FALSE(together_cheapest(offers, all_reduce(5)));
}

TEST(Together, TakesTheFullestSiteForAstraea) {
  const Offers offers = {site(4, 1, 1, 1), site(2, 0, 1, 1), site(3, 1, 1, 1), site(3, 1, 1, 1)};

  EXPECT_EQ(together_fullest(offers, with_servers(2))->workers, (std::vector<SiteCount>{{2, 2}}));
  EXPECT_EQ(together_fullest(offers, all_reduce(2))->workers, (std::vector<SiteCount>{{1, 2}}));
  EXPECT_FALSE(together_fullest(offers, with_servers(5)));
}

TEST(Apart, LeavesOneWorkerAwayFromTheHost) {
  const Offers offers = {site(3, 1, 1, 1), site(3, 1, 2, 1)};

  const auto found = apart_by_host(offers, with_servers(3));

  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers, (std::vector<SiteCount>{{0, 2}, {1, 1}}));
  EXPECT_EQ(found->servers, (SiteCount{0, 1}));
  EXPECT_EQ(found->cost, 5);
}

TEST(Apart, MovesWorkersToAHostWhereServersAreCheaper) {
  // The cheapest workers stand where there are no servers; on site 1 one server does, but only
  // once its own workers need none of the link.
  const Offers offers = {site(3, 0, 1, 0), site(2, 1, 1.5, 1)};

  const auto found = apart_by_price(offers, with_servers(3));

  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers, (std::vector<SiteCount>{{0, 1}, {1, 2}}));
  EXPECT_EQ(found->servers, (SiteCount{1, 1}));
  EXPECT_EQ(found->cost, 5);
}

TEST(Apart, KeepsLargeHolesWholeForAstraea) {
  const Offers offers = {site(4, 0, 1, 1), site(1, 0, 1, 1), site(2, 2, 1, 1)};

  const auto found = apart_fullest(offers, with_servers(3));

  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers, (std::vector<SiteCount>{{1, 1}, {2, 2}}));
  EXPECT_EQ(found->servers, (SiteCount{2, 1}));
  EXPECT_EQ(apart_fullest(offers, all_reduce(3))->workers,
            (std::vector<SiteCount>{{1, 1}, {2, 2}}));
}

TEST(Apart, FindsNothingWithoutRoomOrHost) {
  const Offers offers = {site(2, 0, 1, 1), site(2, 0, 1, 1)};

  for (const auto& rule : {apart_by_host, apart_by_price, apart_fullest}) {
    EXPECT_FALSE(rule(offers, with_servers(2)));
    EXPECT_FALSE(rule(offers, all_reduce(5)));
    EXPECT_TRUE(rule(offers, all_reduce(4)));
    EXPECT_FALSE(rule({}, all_reduce(1)));
  }
}

// The least cost over every way to spread the workers and every host.
std::optional<double> least_cost(const Offers& offers, const Crew& crew) {
  std::optional<double> best;
  std::vector<int> counts(offers.size(), 0);
  const std::function<void(std::size_t, int)> spread = [&](std::size_t at, int left) {
    if (at == offers.size()) {
      for (std::size_t host = 0; left == 0 && host < offers.size(); ++host) {
        double cost = 0;
        for (std::size_t i = 0; i < offers.size(); ++i) {
          cost += counts[i] * offers[i].worker_price;
        }
        const int servers = crew.has_servers ? crew.servers(crew.workers - counts[host]) : 0;
        cost += servers * offers[host].server_price;
        if (servers <= offers[host].servers && (!best || cost < *best)) {
          best = cost;
        }
      }
      return;
    }
    for (int here = 0; here <= std::min(left, offers[at].workers); ++here) {
      counts[at] = here;
      spread(at + 1, left - here);
    }
    counts[at] = 0;
  };
  spread(0, crew.workers);
  return best;
}

Offers random_offers(Random& random) {
  Offers offers;
  for (int i = 0; i < 4; ++i) {
    offers.push_back(site(static_cast<int>(random.integer(0, 3)),
                          static_cast<int>(random.integer(0, 2)), random.uniform(0, 4),
                          random.uniform(0, 4)));
  }
  return offers;
}

TEST(Apart, IsOptimalWithoutServers) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Offers offers = random_offers(random);
    const Crew crew = all_reduce(static_cast<int>(random.integer(1, 6)));

    const auto expected = least_cost(offers, crew);
    const auto found = apart_by_price(offers, crew);

    ASSERT_EQ(found.has_value(), expected.has_value()) << "seed " << seed;
    ASSERT_EQ(apart_by_host(offers, crew).has_value(), expected.has_value()) << "seed " << seed;
    if (found) {
      ASSERT_NEAR(found->cost, *expected, 1e-9) << "seed " << seed;
      ASSERT_NEAR(apart_by_host(offers, crew)->cost, *expected, 1e-9) << "seed " << seed;
    }
  }
}

// With servers the rules are heuristics: what they find must be possible and no bargain.
TEST(Apart, IsFeasibleAndNeverBelowTheOptimumWithServers) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Offers offers = random_offers(random);
    const Crew crew = with_servers(static_cast<int>(random.integer(2, 5)), 0.5);
    const auto expected = least_cost(offers, crew);
    for (const auto& rule : {apart_by_host, apart_by_price, apart_fullest}) {
      const auto found = rule(offers, crew);
      ASSERT_TRUE(!found || expected) << "seed " << seed;
      if (!found) {
        continue;
      }
      ASSERT_GE(found->cost, *expected - 1e-9) << "seed " << seed;
      int placed = 0;
      int on_host = 0;
      for (const SiteCount& each : found->workers) {
        ASSERT_LE(each.count, offers[each.site].workers);
        placed += each.count;
        on_host += each.site == found->servers.site ? each.count : 0;
      }
      ASSERT_EQ(placed, crew.workers);
      ASSERT_EQ(found->servers.count, crew.servers(crew.workers - on_host));
      ASSERT_LE(found->servers.count, offers[found->servers.site].servers);
    }
  }
}

}  // namespace
}  // namespace rubato::policy::planning
