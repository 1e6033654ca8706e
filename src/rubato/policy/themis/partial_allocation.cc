#include "rubato/policy/themis/partial_allocation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "rubato/base/check.h"

namespace rubato::policy::themis {
namespace {

// Stands for a value of zero, whose logarithm has no end.
constexpr double kWorthless = 1e-12;

// Room for the rounding of logarithms, so that a fraction of one keeps everything.
constexpr double kLogRounding = 1e-9;

double log_value(const Offer& offer) { return std::log(std::max(offer.value, kWorthless)); }

// The greatest sum of logarithms for each number of GPUs.
using Table = std::vector<double>;

// The table with one more bidder.
Table with(const Table& others, const Bid& bid) {
  Table table(others.size(), -std::numeric_limits<double>::infinity());
  for (std::size_t gpus = 0; gpus < table.size(); ++gpus) {
    for (const Offer& offer : bid) {
      const auto taken = static_cast<std::size_t>(offer.gpus);
      if (taken > gpus) {
        break;
      }
      table[gpus] = std::max(table[gpus], others[gpus - taken] + log_value(offer));
    }
  }
  return table;
}

// tables[i]: bidders before i; the last: all.
std::vector<Table> prefix_tables(std::span<const Bid> bids, std::size_t gpus) {
  std::vector<Table> tables{Table(gpus + 1, 0.0)};
  for (const Bid& bid : bids) {
    tables.push_back(with(tables.back(), bid));
  }
  return tables;
}

// The offer of bidder i in the best allocation of `gpus` to the bidders up to it; fewest GPUs on a
// tie.
Offer choice(const Table& before, const Bid& bid, std::size_t gpus) {
  Offer best = bid.front();
  double most = -std::numeric_limits<double>::infinity();
  for (const Offer& offer : bid) {
    if (static_cast<std::size_t>(offer.gpus) > gpus) {
      break;
    }
    const double sum = before[gpus - static_cast<std::size_t>(offer.gpus)] + log_value(offer);
    if (sum > most + kLogRounding) {
      most = sum;
      best = offer;
    }
  }
  return best;
}

// No more GPUs than all bidders together could take.
std::size_t gpus_at_most(std::span<const Bid> bids, int gpus) {
  std::size_t wanted = 0;
  for (const Bid& bid : bids) {
    RUBATO_CHECK(!bid.empty() && bid.front().gpus == 0);
    wanted += static_cast<std::size_t>(bid.back().gpus);
  }
  return std::min(wanted, static_cast<std::size_t>(std::max(0, gpus)));
}

// The best all others can do without each bidder, as a sum of logarithms.
std::vector<double> best_without(std::span<const Bid> bids, const std::vector<Table>& before) {
  const std::size_t gpus = before.front().size() - 1;
  std::vector<double> answer(bids.size());
  Table after(gpus + 1, 0.0);
  for (std::size_t i = bids.size(); i-- > 0;) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t left = 0; left <= gpus; ++left) {
      most = std::max(most, before[i][left] + after[gpus - left]);
    }
    answer[i] = most;
    after = with(after, bids[i]);
  }
  return answer;
}

}  // namespace

std::vector<Award> partial_allocation(std::span<const Bid> bids, int gpus) {
  std::vector<Award> awards(bids.size());
  if (bids.empty()) {
    return awards;
  }
  std::size_t left = gpus_at_most(bids, gpus);
  const std::vector<Table> before = prefix_tables(bids, left);
  const std::vector<double> without = best_without(bids, before);
  std::vector<double> logs(bids.size());
  double total = 0;
  for (std::size_t i = bids.size(); i-- > 0;) {
    const Offer offer = choice(before[i], bids[i], left);
    awards[i].best = offer.gpus;
    logs[i] = log_value(offer);
    total += logs[i];
    left -= static_cast<std::size_t>(offer.gpus);
  }
  for (std::size_t i = 0; i < bids.size(); ++i) {
    awards[i].kept = std::min(1.0, std::exp(total - logs[i] - without[i]));
    const double most = std::floor(awards[i].kept * awards[i].best + kLogRounding);
    for (const Offer& offer : bids[i]) {
      awards[i].gpus = offer.gpus <= most ? offer.gpus : awards[i].gpus;
    }
  }
  return awards;
}

}  // namespace rubato::policy::themis
