#include "rubato/policy/reconstructed/bandit_pricing.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::reconstructed {
namespace {

Scene::Make selling(BanditPricingOptions options) {
  return [options] { return Result<std::unique_ptr<Policy>>(make_bandit_pricing(options)); };
}

const BanditPricingOptions kOnePrice{.price_min = 2, .price_max = 2, .arms = 1};

Job worth(double value, Job job) {
  job.value.amount = value;
  return job;
}

TEST(BanditPricing, ChargesForTheGpuTimeItExpects) {
  Scene scene(selling(kOnePrice));
  scene.submit({worth(100, linear_job(1, 0, 2, 3600)), worth(3.9, linear_job(2, 0, 2, 3600))});

  scene.run();

  EXPECT_DOUBLE_EQ(scene.verdict(1).payment, 4);
  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.finish(1), 3600);
  EXPECT_EQ(scene.verdict(2).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(2).reason, Reason::PriceDeclined);
}

TEST(BanditPricing, TriesEveryPriceOnceFromTheLowest) {
  Scene scene(selling({.price_min = 1, .price_max = 4, .arms = 3}));
  for (std::uint64_t id = 1; id <= 3; ++id) {
    scene.submit(worth(1e9, linear_job(id, static_cast<double>(id), 1, 3600)));
  }

  scene.run();

  EXPECT_DOUBLE_EQ(scene.verdict(1).payment, 1);
  EXPECT_DOUBLE_EQ(scene.verdict(2).payment, 2);
  EXPECT_DOUBLE_EQ(scene.verdict(3).payment, 4);
}

TEST(BanditPricing, ExpectsOfAKindWhatItSawBefore) {
  Scene scene(selling(kOnePrice), {.reloads = true});
  scene.submit(worth(1e9, linear_job(1, 0, 1, 3600)));
  scene.run_until(10);
  scene.measure(1, 0.5);  // Twice as slow from now on: 7190 seconds in all.
  scene.run();
  scene.submit(worth(1e9, linear_job(2, 8000, 1, 3600)));

  scene.run();

  const double seen = 7190.0 / 3600;
  EXPECT_NEAR(scene.verdict(2).payment, 2 * (1 + 0.2 * (seen - 1)), 1e-6);
}

TEST(BanditPricing, StartsBuyersInTheirOrder) {
  Scene scene(selling(kOnePrice), {.cluster = "1x4", .reloads = true});
  scene.submit({worth(1e9, linear_job(1, 0, 3, 10)), worth(1e9, linear_job(2, 1, 4, 10)),
                worth(1e9, linear_job(3, 2, 1, 10))});

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(2), 20);
  EXPECT_EQ(scene.finish(3), 30);
}

TEST(BanditPricing, RunsAJobAgainThatAFaultStopped) {
  Scene scene(selling(kOnePrice), {.cluster = "2x2", .reloads = true});
  scene.submit({worth(1e9, linear_job(1, 0, 4, 100)), worth(1e9, linear_job(2, 0, 1, 100))});
  scene.run_until(10);
  scene.set_node(NodeId{0}, false);
  scene.run_until(20);
  EXPECT_EQ(scene.share(1), 0);
  scene.set_node(NodeId{0}, true);

  scene.run();

  EXPECT_EQ(scene.finishes().size(), 2U);
}

TEST(BanditPricing, AsksMoreForAScarceSupply) {
  Scene scene(selling({.price_min = 1, .price_max = 4, .arms = 3, .supply = 4, .buyers = 100}));
  for (std::uint64_t id = 1; id <= 4; ++id) {
    scene.submit(worth(1e9, linear_job(id, 5000.0 * static_cast<double>(id), 1, 3600)));
  }

  scene.run();

  EXPECT_DOUBLE_EQ(scene.verdict(4).payment, 4);  // One left, and the dearest price sold, too.
}

// The target of an accepted job: the node where fewest GPUs stay free, else the emptiest ones.
TEST(BanditPricing, PlacesOnOneNodeBestFitElseOnTheFewest) {
  Scene scene(selling(kOnePrice), {.cluster = "3x4"});
  const View view = scene.view();
  JobTable jobs;
  const auto put = [&](std::uint64_t id, int first, int count) {
    JobState& job = jobs.insert(linear_job(id, 0, count, 1e6));
    job.admitted = true;
    job.share = count;
    job.placement.ranges = {{.first = first, .count = count}};
  };
  put(1, 0, 1);
  put(2, 4, 2);
  SpeedBook speeds(linear_speeds(), view.topology);
  const View own{.topology = view.topology,
                 .capacity = view.capacity,
                 .jobs = jobs,
                 .speeds = speeds,
                 .costs = view.costs,
                 .random = view.random};
  const auto target_of = [&](std::uint64_t id, int gpus) {
    const Job job = linear_job(id, 0, gpus, 10);
    JobState& state = jobs.insert(job);
    state.speed = speeds.resolve(job);
    const auto policy = make_bandit_pricing(kOnePrice);
    static_cast<void>(policy->on(Arrival{.job = job}, own));
    static_cast<void>(policy->on(OfferReply{.job = job.id, .accepted = true}, own));
    return policy->on(Tick{}, own).targets.at(0).nodes;
  };

  EXPECT_EQ(target_of(11, 2), (std::vector<NodeShare>{{NodeId{1}, 2}}));
  EXPECT_EQ(target_of(12, 3), (std::vector<NodeShare>{{NodeId{0}, 3}}));
  EXPECT_EQ(target_of(13, 6), (std::vector<NodeShare>{{NodeId{0}, 2}, {NodeId{2}, 4}}));
}

// Buyers whose unit values are spread evenly over [0, 8]: four is best, and it should show.
TEST(BanditPricing, EarnsMoreThanTheExtremePricesAndLessThanTheBest) {
  const std::vector<double> prices = {1, 2, 4, 8};
  const auto profit = [](BanditPricingOptions options, std::uint64_t seed) {
    Random random(seed);
    Scene scene(selling(options), {.cluster = "1x64"});
    for (std::uint64_t id = 1; id <= 600; ++id) {
      scene.submit(
          worth(random.uniform(0, 8), linear_job(id, 4000.0 * static_cast<double>(id), 1, 3600)));
    }
    scene.run();
    double sum = 0;
    for (const auto& [id, verdict] : scene.verdicts()) {
      sum += verdict.kind == VerdictKind::Admit ? verdict.payment : 0;
    }
    return sum;
  };
  double learnt = 0;
  std::vector<double> fixed(prices.size(), 0);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    learnt += profit({.price_min = 1, .price_max = 8, .arms = 4}, seed);
    for (std::size_t i = 0; i < prices.size(); ++i) {
      fixed[i] += profit({.price_min = prices[i], .price_max = prices[i], .arms = 1}, seed);
    }
  }

  EXPECT_GT(learnt, fixed[0]);
  EXPECT_GT(learnt, fixed[3]);
  EXPECT_LT(learnt, fixed[2]);
  EXPECT_GT(learnt, 0.7 * fixed[2]);
}

TEST(BanditPricing, FinishesWhateverIsBought) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Scene scene(selling({.price_min = 0.001, .price_max = 1, .arms = 4}),
                {.cluster = "2x4+1x2",
                 .slot_seconds = seed % 2 == 0 ? 0.0 : 5.0,
                 .reloads = seed % 3 == 0});
    for (std::uint64_t id = 1; id <= 20; ++id) {
      scene.submit(worth(random.uniform(0, 0.1), linear_job(id, random.uniform(0, 300),
                                                            static_cast<int>(random.integer(1, 8)),
                                                            random.uniform(1, 200))));
    }

    scene.run();

    for (const auto& [id, verdict] : scene.verdicts()) {
      ASSERT_EQ(scene.finish(id.value) >= 0, verdict.kind == VerdictKind::Admit) << "seed " << seed;
    }
  }
}

TEST(BanditPricing, ReadsItsOptions) {
  const auto made = [](std::string_view text) {
    return make_bandit_pricing(PolicyOptions::parse(text).value());
  };

  EXPECT_TRUE(made("price_min=1,price_max=2,arms=3,cost=0.5,supply=9,buyers=20").ok());
  EXPECT_FALSE(made("price_min=3,price_max=2").ok());
  EXPECT_FALSE(made("cost=1").ok());
  EXPECT_FALSE(made("arms=0").ok());
  EXPECT_FALSE(made("price=1").ok());
}

}  // namespace
}  // namespace rubato::policy::reconstructed
