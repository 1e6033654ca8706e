#include "rubato/policy/goodput/pollux.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "rubato/policy/goodput/canonical_shares.h"
#include "rubato/policy/goodput/knapsack.h"
#include "rubato/policy/goodput/share_rates.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::goodput {
namespace {

using rounds::Seat;

constexpr double kLeastSpeedup = 1e-3;  // Keeps the mean defined while jobs wait.

class Pollux final : public rounds::RoundPolicy {
 public:
  explicit Pollux(const PolluxOptions& options) : options_(options) {}

  [[nodiscard]] Traits traits() const override {
    Traits traits = rounds::RoundPolicy::traits();
    traits.adapts_batch = true;
    return traits;
  }

 protected:
  void hold_round(const View& view, std::span<Seat> seats) override;
  void leaves(JobId job) override { rates_.forget(job); }
  [[nodiscard]] Instant next_change(const View& view) const override {
    return after_last_round(view);
  }
  void clear() override { rates_.clear(); }

 private:
  [[nodiscard]] KnapsackItem item(const JobState& job, const View& view, PoolId pool,
                                  std::span<const CanonicalShare> shares, int fair);
  void share_pool(const View& view, PoolId pool, std::span<Seat*> seats);

  PolluxOptions options_;
  ShareRates rates_;
};

// The options of one job: no GPUs, or one of the shares it may have.
KnapsackItem Pollux::item(const JobState& job, const View& view, PoolId pool,
                          std::span<const CanonicalShare> shares, int fair) {
  const Pool& here = view.topology.pool(pool);
  const double scale = static_cast<double>(here.nodes.size()) / here.gpus;
  const auto cost = [&](double speedup) {
    const double term = std::pow(scale * speedup + kLeastSpeedup, options_.p);
    return options_.p < 0 ? term : -term;
  };
  KnapsackItem item = {{.weight = 0, .cost = cost(0)}};
  const int most = explored_max(job, view, pool, options_.workers_max);
  const double fair_rate =
      rates_.rate(job, view, pool, {.workers = std::clamp(fair, 1, std::max(most, 1)), .nodes = 1});
  const double restarted = after_restart(job, view);
  for (const CanonicalShare& share : shares) {
    if (share.workers > most || !job.job.workers.allows(share.workers)) {
      continue;
    }
    const double gained = rates_.rate(job, view, pool, share);
    const double speedup =
        fair_rate > 0 ? gained / fair_rate : static_cast<double>(share.workers) / fair;
    const bool stays = share.workers == job.share && job.pool() == pool;
    item.push_back({.weight = share.workers, .cost = cost(speedup * (stays ? 1 : restarted))});
  }
  return item;
}

void Pollux::share_pool(const View& view, PoolId pool, std::span<Seat*> seats) {
  const int gpus = view.capacity[pool.value];
  const auto shares = canonical_shares(view.topology.pool(pool), gpus, options_.workers_max);
  const auto count = static_cast<int>(seats.size());
  const int fair = std::max(1, (gpus + count - 1) / count);
  std::vector<KnapsackItem> items;
  items.reserve(seats.size());
  for (const Seat* seat : seats) {
    items.push_back(item(*seat->job, view, pool, shares, fair));
  }
  const std::vector<std::size_t> chosen = pack(items, gpus);
  for (std::size_t i = 0; i < seats.size(); ++i) {
    seats[i]->pool = pool;
    seats[i]->workers = items[i][chosen[i]].weight;
  }
}

void Pollux::hold_round(const View& view, std::span<Seat> seats) {
  std::vector<std::vector<Seat*>> by_pool(view.topology.pools().size());
  for (Seat& seat : seats) {
    if (seat.job->share > 0) {
      by_pool[seat.job->pool().value].push_back(&seat);
    }
  }
  for (Seat& seat : seats) {
    if (seat.job->share > 0) {
      continue;
    }
    double most = -1;
    std::size_t best = 0;
    for (std::size_t pool = 0; pool < by_pool.size(); ++pool) {
      const double gpus_each =
          view.capacity[pool] / (1.0 + static_cast<double>(by_pool[pool].size()));
      if (gpus_each > most && !view.curve(*seat.job, PoolId{pool}).empty()) {
        most = gpus_each;
        best = pool;
      }
    }
    by_pool[best].push_back(&seat);
  }
  for (std::size_t pool = 0; pool < by_pool.size(); ++pool) {
    if (!by_pool[pool].empty()) {
      share_pool(view, PoolId{pool}, by_pool[pool]);
    }
  }
}

}  // namespace

std::unique_ptr<Policy> make_pollux(const PolluxOptions& options) {
  return std::make_unique<Pollux>(options);
}

Result<std::unique_ptr<Policy>> make_pollux(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 2> kKeys = {"p", "max"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  PolluxOptions chosen;
  const auto p = options.number("p", chosen.p, -100, 1);
  const auto most = options.number("max", chosen.workers_max, 1, 1e6);
  if (!p || !most) {
    return !p ? p.error() : most.error();
  }
  if (*p == 0) {
    return bad_input("policy option p: expected a number from -100 to 1 other than 0");
  }
  chosen.p = *p;
  chosen.workers_max = static_cast<int>(*most);
  return make_pollux(chosen);
}

PolicyInfo pollux_policy() {
  return {.name = "pollux",
          .paper = "Pollux, OSDI'21",
          .fidelity = "as its simulator, but for an exact search in place of the genetic one",
          .objective = "goodput, shared fairly",
          .needs = "batch limits and step reports; else speed curve",
          .use_when = "batch sizes may adapt and nobody knows run times",
          .options = "p=-1 (fairness exponent), max=64 (workers of one job)",
          .make = make_pollux};
}

}  // namespace rubato::policy::goodput
