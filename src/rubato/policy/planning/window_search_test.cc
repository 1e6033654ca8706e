#include "rubato/policy/planning/window_search.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/server_world.h"

namespace rubato::policy::planning {
namespace {

// DPS: an edge site, where data arrive in slot 2, and a cloud, where they do in slot 4.
class Auction {
 public:
  Auction() {
    world_.set_ready(0, 2);
    world_.set_ready(1, 4);
  }

  // What is best for a job that is worth `value` up to latency 3 and 4 less per slot after it.
  [[nodiscard]] std::optional<Booking> best(int chunks, double value) const {
    return best(chunks, [value](double latency) {
      return std::max(0.0, value - 4 * std::max(0.0, latency - 3));
    });
  }

  [[nodiscard]] std::optional<Booking> best(int chunks,
                                            const std::function<double(double)>& value) const {
    WindowSearch search = world_.search(
        {.chunks = chunks, .batches = 2, .together = 0.5, .apart = 1}, /*first=*/1,
        /*last_finish=*/11, kPrices, {.together = together_cheapest, .apart = apart_by_price});
    // Latency counts up to the last busy slot.
    search.value = [value](Instant finish) { return value(to_seconds(finish) - 1 - 1); };
    return best_window(search);
  }

  void commit(const Booking& booking) { world_.commit(booking); }

 private:
  static constexpr ServerPrices kPrices = {.workers = {PriceCurve::Form::LowToHigh, 1, 16},
                                           .servers = {PriceCurve::Form::LowToHigh, 1, 16}};
  ServerWorld world_{SiteCapacities{{2, 1}, {4, 2}}};
};

TEST(WindowSearch, HoldsTheAuctionOfTheWorkedCaseOfDps) {
  Auction auction;

  const auto first = auction.best(2, 20);
  ASSERT_TRUE(first);
  EXPECT_EQ(first_slot(*first), 2);
  EXPECT_EQ(first->posting.workers, (std::vector<SiteCount>{{0, 2}}));
  EXPECT_TRUE(first->choice.together);
  EXPECT_DOUBLE_EQ(first->posting.cost, 3);
  EXPECT_DOUBLE_EQ(first->payoff(), 17);
  auction.commit(*first);

  const auto second = auction.best(2, 20);
  ASSERT_TRUE(second);
  EXPECT_EQ(first_slot(*second), 3);
  EXPECT_EQ(second->posting.workers, (std::vector<SiteCount>{{0, 2}}));
  EXPECT_DOUBLE_EQ(second->payoff(), 17);
  auction.commit(*second);

  const auto third = auction.best(4, 20);
  ASSERT_TRUE(third);
  EXPECT_EQ(first_slot(*third), 4);
  EXPECT_EQ(third->posting.workers, (std::vector<SiteCount>{{1, 4}}));
  EXPECT_DOUBLE_EQ(third->posting.cost, 5);
  EXPECT_DOUBLE_EQ(third->payoff(), 15);
  auction.commit(*third);

  const auto fourth = auction.best(2, 3);
  ASSERT_TRUE(fourth);
  EXPECT_DOUBLE_EQ(fourth->payoff(), 0);  // To be refused.
  for (const double factor : {2.0, 5.0, 10.0}) {
    const auto lie = auction.best(2, factor * 3);
    ASSERT_TRUE(lie);
    EXPECT_GT(lie->payoff(), 0);
    EXPECT_EQ(first_slot(*lie), 4);
    EXPECT_DOUBLE_EQ(3 - lie->posting.cost, 0) << "true gain, factor " << factor;
  }
}

// A job's true gain: value at the latency it gets, less what it pays; nothing if refused.
double gain(const std::optional<Booking>& booking, const std::function<double(double)>& truth) {
  return booking && booking->payoff() > 0
             ? truth(to_seconds(booking->window.to) - 2) - booking->posting.cost
             : 0;
}

TEST(WindowSearch, MakesNoMisreportProfitable) {
  int lies = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Auction auction;
    for (int job = 0; job < 4; ++job) {
      const auto chunks = static_cast<int>(random.integer(1, 4));
      const double value = random.uniform(1, 40);
      const double deadline = random.uniform(1, 7);
      const auto report = [](double worth, double until) {
        return [=](double latency) {
          return std::max(0.0, worth - 4 * std::max(0.0, latency - until));
        };
      };
      const auto truth = report(value, deadline);
      const auto honest = auction.best(chunks, truth);
      ASSERT_LE(honest && honest->payoff() > 0 ? honest->posting.cost : 0, value);
      for (int lie = 0; lie < 4; ++lie, ++lies) {
        const auto told = report(value * random.uniform(0.1, 5), deadline + random.uniform(-4, 4));
        ASSERT_LE(gain(auction.best(chunks, told), truth), gain(honest, truth) + 1e-9)
            << "seed " << seed;
      }
      if (honest && honest->payoff() > 0) {
        auction.commit(*honest);
      }
    }
  }
  EXPECT_EQ(lies, 960);
}

// The bounds that skip crews and starts must not change the answer.
TEST(WindowSearch, EqualsExhaustiveSearch) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<double> costs;
    for (int i = 0; i < 8 * 3; ++i) {
      costs.push_back(random.chance(0.3) ? -1 : std::floor(random.uniform(0, 6)));
    }
    const double slope = random.chance(0.3) ? 0 : random.uniform(0, 2);
    const auto cost_of = [&](const CrewChoice& choice, TimeWindow window) {
      return costs[static_cast<std::size_t>(to_seconds(window.from)) * 3 +
                   static_cast<std::size_t>(choice.crew.workers) - 1];
    };
    WindowSearch search{
        .starts = slot_edges(at_seconds(0), std::chrono::seconds(1), 7, Duration{}, false),
        .last_finish = at_seconds(9)};
    for (int n = 1; n <= 3; ++n) {
      search.crews.push_back({.crew = {.workers = n}, .run_time = std::chrono::seconds(6 / n)});
    }
    search.value = [&](Instant finish) { return 10 - slope * to_seconds(finish); };
    search.place = [&](const CrewChoice& choice,
                       TimeWindow window) -> std::optional<SiteAssignment> {
      const double cost = cost_of(choice, window);
      return cost < 0 ? std::nullopt : std::optional(SiteAssignment{.cost = cost});
    };

    const auto best = best_window(search);

    std::optional<double> expected;
    for (int start = 0; start <= 7; ++start) {
      for (const CrewChoice& choice : search.crews) {
        const TimeWindow window{at_seconds(start), at_seconds(start) + choice.run_time};
        if (window.to <= search.last_finish && cost_of(choice, window) >= 0) {
          const double payoff = search.value(window.to) - cost_of(choice, window);
          expected = std::max(expected.value_or(payoff), payoff);
        }
      }
    }
    ASSERT_EQ(best.has_value(), expected.has_value()) << "seed " << seed;
    if (best) {
      ASSERT_NEAR(best->payoff(), *expected, 1e-9) << "seed " << seed;
    }
  }
}

// Astraea's worked case: one price for all sites, the fullest site first.
TEST(WindowSearch, PlansTheWorkedCaseOfAstraea) {
  ServerWorld world(SiteCapacities{{2, 1}, {2, 1}, {2, 1}, {2, 1}});
  const auto value = [](double latency) { return 300 / (1 + std::exp(0.02 * latency)); };
  const ServerPrices prices{.workers = from_zero(value(3) / 4 + 1),
                            .servers = from_zero(value(3) / 2 + 1),
                            .one_price = true};
  EXPECT_NEAR(prices.workers.high, 37.37534, 1e-5);
  EXPECT_NEAR(prices.servers.high, 73.75067, 1e-5);
  const auto plan = [&](int chunks) {
    WindowSearch search = world.search({.epochs = 2, .chunks = chunks}, 4, 8, prices,
                                       {.together = together_fullest, .apart = apart_fullest});
    search.value = [&](Instant finish) { return value(to_seconds(finish) - 3); };
    const Booking booking = best_window(search).value();
    world.commit(booking);
    return booking;
  };

  const Booking first = plan(2);
  EXPECT_EQ(first_slot(first), 4);
  EXPECT_EQ(end_slot(first), 6);
  EXPECT_EQ(first.posting.workers, (std::vector<SiteCount>{{0, 2}}));
  EXPECT_EQ(first.posting.cost, 0);

  const Booking second = plan(2);
  EXPECT_EQ(first_slot(second), 6);
  EXPECT_EQ(second.posting.workers, (std::vector<SiteCount>{{0, 2}}));
  EXPECT_EQ(second.posting.cost, 0);
  EXPECT_NEAR(second.value, 142.50624, 1e-5);

  const Booking third = plan(3);
  EXPECT_EQ(first_slot(third), 4);
  EXPECT_EQ(end_slot(third), 7);
  EXPECT_EQ(third.posting.workers, (std::vector<SiteCount>{{1, 2}}));
  EXPECT_TRUE(third.choice.together);
  EXPECT_NEAR(third.posting.cost, 14.6268, 1e-4);
  EXPECT_NEAR(third.value, 144.0032, 1e-4);
  EXPECT_NEAR(third.payoff(), 129.3764, 1e-4);
}

TEST(WindowSearch, FindsNothingWithoutCrewsOrTime) {
  WindowSearch search{
      .starts = slot_edges(at_seconds(0), std::chrono::seconds(1), 3, Duration{}, false),
      .last_finish = at_seconds(3)};
  search.value = [](Instant) { return 1.0; };
  search.place = [](const CrewChoice&, TimeWindow) { return std::optional(SiteAssignment{}); };
  EXPECT_FALSE(best_window(search));
  search.crews.push_back({.crew = {.workers = 1}, .run_time = std::chrono::seconds(4)});
  EXPECT_FALSE(best_window(search));
  search.crews.front().run_time = std::chrono::seconds(3);
  EXPECT_TRUE(best_window(search));
}

}  // namespace
}  // namespace rubato::policy::planning
