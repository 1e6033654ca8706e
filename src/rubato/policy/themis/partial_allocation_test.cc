#include "rubato/policy/themis/partial_allocation.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::themis {
namespace {

// Value: ideal time over elapsed time and work shared by the GPUs.
Bid bid_of(double elapsed, double work, double ideal, int gpus_max) {
  Bid bid{{.gpus = 0, .value = 0}};
  for (int gpus = 1; gpus <= gpus_max; ++gpus) {
    bid.push_back({.gpus = gpus, .value = ideal / (elapsed + work / gpus)});
  }
  return bid;
}

Bid random_bid(Random& random, int gpus_max) {
  Bid bid{{.gpus = 0, .value = random.uniform(0.01, 0.2)}};
  for (int gpus = 1; gpus <= gpus_max; ++gpus) {
    if (random.chance(0.7)) {
      bid.push_back({.gpus = gpus, .value = bid.back().value + random.uniform(0.01, 1)});
    }
  }
  return bid;
}

// The greatest product by trying everything; `skipped` takes no part.
double best_product(const std::vector<Bid>& bids, std::size_t from, int gpus, std::size_t skipped) {
  if (from == bids.size()) {
    return 1;
  }
  if (from == skipped) {
    return best_product(bids, from + 1, gpus, skipped);
  }
  double best = 0;
  for (const Offer& offer : bids[from]) {
    if (offer.gpus <= gpus) {
      best = std::max(best, offer.value * best_product(bids, from + 1, gpus - offer.gpus, skipped));
    }
  }
  return best;
}

double value_at(const Bid& bid, int gpus) {
  return std::ranges::find(bid, gpus, &Offer::gpus)->value;
}

TEST(PartialAllocation, MatchesTheWorkedExample) {
  const std::vector<Bid> bids = {bid_of(10, 40, 25, 8), bid_of(20, 10, 15, 8)};

  const std::vector<Award> awards = partial_allocation(bids, 8);

  EXPECT_EQ(awards[0].best, 6);
  EXPECT_EQ(awards[1].best, 2);
  EXPECT_NEAR(value_at(bids[0], 6) * value_at(bids[1], 2), 0.9, 1e-9);
  EXPECT_NEAR(awards[0].kept, 0.85, 1e-9);
  EXPECT_NEAR(awards[1].kept, 0.90, 1e-9);
  EXPECT_EQ(awards[0].gpus, 5);
  EXPECT_EQ(awards[1].gpus, 1);
}

TEST(PartialAllocation, ALonelyBidderKeepsAll) {
  const std::vector<Award> awards = partial_allocation(std::vector<Bid>{bid_of(5, 30, 10, 4)}, 8);

  EXPECT_EQ(awards[0].gpus, 4);
  EXPECT_EQ(awards[0].kept, 1);
}

TEST(PartialAllocation, BiddersThatDoNotMeetKeepAll) {
  const std::vector<Bid> bids = {bid_of(5, 30, 10, 4), bid_of(9, 10, 10, 4)};

  const std::vector<Award> awards = partial_allocation(bids, 8);

  EXPECT_EQ(awards[0].gpus, 4);
  EXPECT_EQ(awards[1].gpus, 4);
}

TEST(PartialAllocation, NothingToGiveAndNobodyToGiveTo) {
  EXPECT_TRUE(partial_allocation({}, 8).empty());
  EXPECT_EQ(partial_allocation(std::vector<Bid>{bid_of(5, 30, 10, 4)}, 0)[0].gpus, 0);
}

TEST(PartialAllocation, MatchesEnumeration) {
  Random random(2);
  for (int trial = 0; trial < 2'000; ++trial) {
    std::vector<Bid> bids;
    for (int i = 0; i < random.integer(1, 4); ++i) {
      bids.push_back(random_bid(random, 6));
    }
    const int gpus = static_cast<int>(random.integer(0, 10));

    const std::vector<Award> awards = partial_allocation(bids, gpus);

    double product = 1;
    int given = 0;
    for (std::size_t i = 0; i < bids.size(); ++i) {
      product *= value_at(bids[i], awards[i].best);
      given += awards[i].best;
    }
    ASSERT_LE(given, gpus);
    ASSERT_NEAR(product, best_product(bids, 0, gpus, bids.size()), 1e-9) << "trial " << trial;
    for (std::size_t i = 0; i < bids.size(); ++i) {
      const double others = product / value_at(bids[i], awards[i].best);
      ASSERT_NEAR(awards[i].kept, others / best_product(bids, 0, gpus, i), 1e-7);
      ASSERT_LE(awards[i].gpus, awards[i].kept * awards[i].best + 1e-6);
    }
  }
}

// With GPUs that can be divided and values that grow in proportion, a lie never pays; whole GPUs
// blur this by at most the GPU that rounding takes away.
TEST(PartialAllocation, AnUntrueBidGainsAtMostARoundedGpu) {
  Random random(6);
  for (int trial = 0; trial < 2'000; ++trial) {
    const auto linear = [&](double slope) {
      Bid bid{{.gpus = 0, .value = 0}};
      for (int gpus = 1; gpus <= 12; ++gpus) {
        bid.push_back({.gpus = gpus, .value = slope * gpus});
      }
      return bid;
    };
    std::vector<Bid> bids = {linear(random.uniform(0.5, 2)), linear(random.uniform(0.5, 2))};
    const double honest = partial_allocation(bids, 12)[0].kept * 6;

    for (Offer& offer : bids[0]) {
      offer.value = std::pow(offer.value, random.uniform(0.5, 3));
    }
    const Award lied = partial_allocation(bids, 12)[0];

    EXPECT_LE(lied.kept * lied.best, honest + 1) << "trial " << trial;
  }
}

}  // namespace
}  // namespace rubato::policy::themis
