#include "rubato/policy/reconstructed/price_bandit.h"

#include <algorithm>
#include <cmath>

#include "rubato/base/check.h"

namespace rubato::policy::reconstructed {

std::vector<double> price_grid(double low, double high, int arms) {
  RUBATO_CHECK(low > 0 && high >= low && arms > 0);
  std::vector<double> prices;
  for (int i = 0; i < arms; ++i) {
    prices.push_back(arms == 1 ? high : low * std::pow(high / low, 1.0 * i / (arms - 1)));
  }
  return prices;
}

PriceBandit::PriceBandit(std::span<const double> prices) {
  for (const double price : prices) {
    arms_.push_back({.price = price});
  }
  RUBATO_CHECK(!arms_.empty());
}

void PriceBandit::learn(std::size_t arm, double reward) {
  RUBATO_CHECK(reward >= 0 && reward <= 1);
  ++arms_.at(arm).rewards;
  arms_.at(arm).sum += reward;
}

double PriceBandit::index(std::size_t arm) const {
  std::int64_t all = 0;
  for (const PriceArm& each : arms_) {
    all += each.rewards;
  }
  const auto mine = static_cast<double>(arms_.at(arm).rewards);
  return arms_[arm].sum / mine + std::sqrt(2 * std::log(static_cast<double>(all)) / mine);
}

double PriceBandit::limited_index(std::size_t arm, const LimitedSupply& supply) const {
  const PriceArm& mine = arms_.at(arm);
  const auto buyers = static_cast<double>(supply.buyers);
  const double log = std::log(std::max(buyers, 2.0));
  const auto tries = static_cast<double>(mine.offers);
  const double rate = tries > 0 ? static_cast<double>(mine.sales) / tries : 1;
  const double radius = log / (tries + 1) + std::sqrt(log * rate / (tries + 1));
  return mine.price * std::min(static_cast<double>(supply.left), buyers * (rate + radius));
}

std::size_t PriceBandit::choose(std::optional<LimitedSupply> supply) const {
  const auto untried = std::ranges::find(arms_, 0, &PriceArm::offers);
  if (untried != arms_.end()) {
    return static_cast<std::size_t>(untried - arms_.begin());
  }
  std::optional<std::size_t> best;
  double highest = 0;
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    if (!supply && arms_[arm].rewards == 0) {
      continue;  // Its first sale is not over: nothing is known yet.
    }
    const double value = supply ? limited_index(arm, *supply) : index(arm);
    if (!best || value > highest) {
      best = arm;
      highest = value;
    }
  }
  const auto fewest = std::ranges::min_element(arms_, {}, &PriceArm::offers);
  return best.value_or(static_cast<std::size_t>(fewest - arms_.begin()));
}

}  // namespace rubato::policy::reconstructed
