// A multi-armed bandit that learns which price brings most: each price is an arm.
//
// The index policies of dynamic pricing by bandits (JSAC'23, and the works it builds on): mean
// reward plus a confidence radius, and a variant for a limited supply (posted prices for k of n
// buyers). Rewards may come long after the offer; until then an offer changes no statistics, it
// only counts as a try, so that no price is tried first twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rubato::policy::reconstructed {

/// What is known about one price.
struct PriceArm {
  double price = 0;
  std::int64_t offers = 0;   // Made, answered or not.
  std::int64_t rewards = 0;  // Known, refusals included.
  std::int64_t sales = 0;    // Accepted.
  double sum = 0;            // Of rewards, each from 0 to 1.
};

/// How much there is to sell, for how many buyers.
struct LimitedSupply {
  std::int64_t left = 0;
  std::int64_t buyers = 0;
};

/// `arms` prices from `low` to `high`, each the same multiple of the one before.
[[nodiscard]] std::vector<double> price_grid(double low, double high, int arms);

class PriceBandit {
 public:
  /// Prices rise.
  explicit PriceBandit(std::span<const double> prices);

  /// The arm to offer next: the lowest that was never offered, else that of the highest index, the
  /// lower price if equal. Without any reward yet, the one with the fewest offers.
  [[nodiscard]] std::size_t choose(std::optional<LimitedSupply> supply = {}) const;

  void offered(std::size_t arm) { ++arms_.at(arm).offers; }
  void sold(std::size_t arm) { ++arms_.at(arm).sales; }
  /// Zero if the offer was declined.
  void learn(std::size_t arm, double reward);

  /// mean + sqrt(2 ln N / n), with N rewards in all and n of this arm, which must have one.
  [[nodiscard]] double index(std::size_t arm) const;
  /// price * min(left, buyers * (S + r)) with S the part of offers that sold and r its radius.
  [[nodiscard]] double limited_index(std::size_t arm, const LimitedSupply& supply) const;

  [[nodiscard]] const std::vector<PriceArm>& arms() const { return arms_; }
  /// For loading.
  void restore(std::size_t arm, const PriceArm& known) { arms_.at(arm) = known; }

 private:
  std::vector<PriceArm> arms_;
};

}  // namespace rubato::policy::reconstructed
