#include "rubato/policy/pricing/server_search.h"

#include <map>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/planning/plan_times.h"
#include "rubato/policy/testing/timeline_test.h"

namespace rubato::policy::pricing {
namespace {

using planning::SiteCapacities;
using planning::SiteCount;
using planning::UseCalendar;

planning::TimeWindow slot_at(int t) { return {at_seconds(t), at_seconds(t + 1)}; }

/// The worked cases of OASiS: slots 1 to 3, prices from 1 to 16, one resource on each side.
class OasisCase {
 public:
  OasisCase(SiteCapacities workers, SiteCapacities servers)
      : workers_(std::move(workers)), servers_(std::move(servers)) {}

  struct Job {
    int arrival = 1;
    int workers_max = 2;   // N
    int worker_slots = 2;  // W
    std::vector<double> values{};
  };

  [[nodiscard]] std::optional<ElasticSchedule> best(const Job& job) const {
    ElasticDemand demand{
        .units = job.worker_slots, .server_demand = {1}, .servers_per_worker = 0.5};
    for (int y = 1; y <= job.workers_max; ++y) {
      demand.counts.push_back({.workers = y, .gain = 1.0 * y});
    }
    const ElasticSearch search{.workers = {&workers_, {planning::low_to_high(1, 16)}},
                               .servers = {&servers_, {planning::low_to_high(1, 16)}},
                               .edges = planning::slot_edges(at_seconds(job.arrival), kSecond,
                                                             4 - job.arrival, Duration{}, false),
                               .price_slot = kSecond};
    return best_elastic(search, demand, [&](Instant finish) {
      const auto slot = static_cast<int>(to_seconds(finish)) - 1;
      return job.values.at(static_cast<std::size_t>(slot - job.arrival));
    });
  }

  void commit(const ElasticSchedule& schedule) {
    for (const SlotUse& use : schedule.uses) {
      for (const SiteCount& each : use.worker_sites) {
        workers_.reserve(each.site, 0, use.window, each.count);
      }
      for (const SiteCount& each : use.server_sites) {
        servers_.reserve(each.site, 0, use.window, each.count);
      }
    }
  }

  [[nodiscard]] double worker_price(std::size_t site, int slot) const {
    return workers_.price(site, 0, slot_at(slot), planning::low_to_high(1, 16), kSecond);
  }
  [[nodiscard]] double server_price(int slot) const {
    return servers_.price(0, 0, slot_at(slot), planning::low_to_high(1, 16), kSecond);
  }

  UseCalendar& workers() { return workers_; }

 private:
  UseCalendar workers_;
  UseCalendar servers_;
};

int first_slot(const ElasticSchedule& schedule) {
  return static_cast<int>(to_seconds(schedule.uses.front().window.from));
}

TEST(ServerSearch, DecidesTheFirstWorkedCaseOfOasis) {
  OasisCase world({{2}}, {{2}});

  const auto first = world.best({.values = {10, 8, 5}});
  ASSERT_TRUE(first);
  EXPECT_EQ(first_slot(*first), 1);
  EXPECT_EQ(first->uses.front().worker_sites, (std::vector<SiteCount>{{0, 2}}));
  EXPECT_EQ(first->uses.front().server_sites, (std::vector<SiteCount>{{0, 1}}));
  EXPECT_DOUBLE_EQ(first->cost, 3);
  EXPECT_DOUBLE_EQ(first->payoff(), 7);
  world.commit(*first);

  const auto second = world.best({.values = {9, 7, 4}});
  ASSERT_TRUE(second);
  EXPECT_EQ(first_slot(*second), 2);
  EXPECT_DOUBLE_EQ(second->cost, 3);
  EXPECT_DOUBLE_EQ(second->payoff(), 4);
  world.commit(*second);

  const auto third = world.best({.values = {6, 5, 2.5}});
  ASSERT_TRUE(third);
  EXPECT_DOUBLE_EQ(third->payoff(), -0.5);

  const auto fourth = world.best({.arrival = 2, .values = {6, 4}});
  ASSERT_TRUE(fourth);
  EXPECT_EQ(first_slot(*fourth), 3);
  EXPECT_DOUBLE_EQ(fourth->payoff(), 1);
}

TEST(ServerSearch, DecidesTheSecondWorkedCaseOfOasis) {
  OasisCase world({{2}, {1}}, {{4}});
  world.workers().reserve(0, 0, slot_at(1), 1);

  const auto first = world.best({.workers_max = 3, .worker_slots = 4, .values = {30, 20, 10}});
  ASSERT_TRUE(first);
  ASSERT_EQ(first->uses.size(), 2U);
  EXPECT_EQ(first->uses[0].worker_sites, (std::vector<SiteCount>{{1, 1}}));
  EXPECT_EQ(first->uses[1].worker_sites, (std::vector<SiteCount>{{0, 2}, {1, 1}}));
  EXPECT_EQ(first->uses[0].server_sites, (std::vector<SiteCount>{{0, 1}}));
  EXPECT_EQ(first->uses[1].server_sites, (std::vector<SiteCount>{{0, 2}}));
  EXPECT_DOUBLE_EQ(first->cost, 7);
  EXPECT_DOUBLE_EQ(first->payoff(), 13);
  world.commit(*first);

  const std::map<int, std::pair<double, double>> prices = {
      {1, {4, 16}}, {2, {16, 16}}, {3, {1, 1}}};
  for (const auto& [slot, expected] : prices) {
    EXPECT_NEAR(world.worker_price(0, slot), expected.first, 1e-9) << slot;
    EXPECT_NEAR(world.worker_price(1, slot), expected.second, 1e-9) << slot;
  }
  EXPECT_NEAR(world.server_price(1), 2, 1e-9);
  EXPECT_NEAR(world.server_price(2), 4, 1e-9);
  EXPECT_NEAR(world.server_price(3), 1, 1e-9);

  const auto second = world.best({.values = {9, 8.5, 3}});
  ASSERT_TRUE(second);
  EXPECT_EQ(first_slot(*second), 3);
  EXPECT_DOUBLE_EQ(second->payoff(), 0);  // Worth just what it costs: to be refused.
}

TEST(ServerSearch, CountsEveryResourceOfASite) {
  UseCalendar workers(SiteCapacities{{4, 10}, {4, 100}});  // GPUs, memory.
  const ElasticSearch search{
      .workers = {&workers, {planning::low_to_high(1, 16), planning::low_to_high(0.1, 1)}},
      .edges = {at_seconds(0), at_seconds(1)},
      .price_slot = kSecond};
  const ElasticDemand demand{
      .units = 3, .counts = {{.workers = 3, .gain = 3}}, .worker_demand = {1, 8}};

  const auto best = best_elastic(search, demand, [](Instant) { return 10.0; });

  ASSERT_TRUE(best);
  EXPECT_EQ(best->uses.front().worker_sites, (std::vector<SiteCount>{{0, 1}, {1, 2}}));
  EXPECT_DOUBLE_EQ(best->cost, 3 * 1.8);
}

// Payoff against trying every number of workers in every slot, on a market that has seen jobs.
TEST(ServerSearch, FindsThePayoffOfExhaustiveSearch) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    OasisCase world({{static_cast<int>(random.integer(1, 3))}, {2}}, {{2}});
    for (int job = 0; job < 4; ++job) {
      OasisCase::Job drawn{.workers_max = static_cast<int>(random.integer(1, 3)),
                           .worker_slots = static_cast<int>(random.integer(1, 5))};
      double value = random.uniform(1, 60);
      for (int t = 0; t < 3; ++t) {
        drawn.values.push_back(value);
        value *= random.uniform(0.5, 1);
      }

      const auto best = world.best(drawn);

      std::optional<double> expected;
      for (int code = 0; code < 64; ++code) {
        // The cost of y workers in one slot is that of a job which needs just those.
        const int y[3] = {code % 4, code / 4 % 4, code / 16};
        double cost = 0;
        std::optional<std::size_t> last;
        bool fits = y[0] + y[1] + y[2] >= drawn.worker_slots;
        for (int t = 0; t < 3 && fits; ++t) {
          if (y[t] == 0) {
            continue;
          }
          std::vector<double> only(static_cast<std::size_t>(3 - t), -1e6);
          only.front() = 0;
          const auto one = world.best(
              {.arrival = t + 1, .workers_max = y[t], .worker_slots = y[t], .values = only});
          fits = y[t] <= drawn.workers_max && one && one->value == 0;
          cost += one ? one->cost : 0;
          last = static_cast<std::size_t>(t);
        }
        if (fits && last) {
          expected = std::max(expected.value_or(-1e9), drawn.values[*last] - cost);
        }
      }
      ASSERT_EQ(best.has_value(), expected.has_value()) << "seed " << seed << " job " << job;
      if (best) {
        ASSERT_NEAR(best->payoff(), *expected, 1e-9) << "seed " << seed << " job " << job;
      }
      if (best && best->payoff() > 0) {
        world.commit(*best);  // The ledger stops the test if this is more than there is.
      }
    }
  }
}

}  // namespace
}  // namespace rubato::policy::pricing
