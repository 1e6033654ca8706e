#include "rubato/policy/goodput/sia.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "rubato/policy/goodput/canonical_shares.h"
#include "rubato/policy/goodput/priced_choice.h"
#include "rubato/policy/goodput/share_rates.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::goodput {
namespace {

using rounds::Seat;

/// One way to run a job and its goodput.
struct Configuration {
  PoolId pool{};
  int workers = 0;
  double goodput = 0;
};

class Sia final : public rounds::RoundPolicy {
 public:
  explicit Sia(const SiaOptions& options) : options_(options) {}

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
  using Shares = std::vector<std::vector<CanonicalShare>>;  // By pool.

  [[nodiscard]] double predicted(const JobState& job, const View& view, PoolId pool,
                                 const CanonicalShare& share);
  [[nodiscard]] std::vector<Configuration> configurations(const JobState& job, const View& view,
                                                          const Shares& shares);
  [[nodiscard]] PricedItem item(const JobState& job, const View& view,
                                const std::vector<Configuration>& configurations) const;

  SiaOptions options_;
  ShareRates rates_;
};

// Goodput in a pool; in one where the job was never seen, that of another with as many workers,
// scaled by how much faster one GPU (or as few as the job accepts) is here. Zero if it was seen
// nowhere.
double Sia::predicted(const JobState& job, const View& view, PoolId pool,
                      const CanonicalShare& share) {
  const double known = rates_.rate(job, view, pool, share);
  if (known > 0 || view.goodput(job.id()) == nullptr) {
    return known;
  }
  const int least = std::max(1, job.job.workers.min);
  for (const Pool& other : view.topology.pools()) {
    const double there = rates_.rate(job, view, other.id, share);
    const double least_there = view.speed(job, other.id, least);
    if (there > 0 && least_there > 0) {
      return there * view.speed(job, pool, least) / least_there;
    }
  }
  return 0;
}

std::vector<Configuration> Sia::configurations(const JobState& job, const View& view,
                                               const Shares& shares) {
  int most = 0;
  for (const Pool& pool : view.topology.pools()) {
    most = std::max(most, explored_max(job, view, pool.id, options_.workers_max));
  }
  std::vector<Configuration> found;
  for (const Pool& pool : view.topology.pools()) {
    if (view.curve(job, pool.id).empty()) {
      continue;
    }
    for (const CanonicalShare& share : shares[pool.id.value]) {
      if (share.workers > most || !job.job.workers.allows(share.workers)) {
        continue;
      }
      const double goodput = predicted(job, view, pool.id, share);
      // A job that nobody knows yet is first seen on one GPU, of whatever type.
      if (goodput > 0 || share.workers == std::max(1, job.job.workers.min)) {
        found.push_back({.pool = pool.id, .workers = share.workers, .goodput = goodput});
      }
    }
  }
  return found;
}

PricedItem Sia::item(const JobState& job, const View& view,
                     const std::vector<Configuration>& configurations) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Configuration& each : configurations) {
    least = each.goodput > 0 ? std::min(least, each.goodput) : least;
  }
  const double sign = options_.p < 0 ? 1 : -1;
  PricedItem item = {{.cost = options_.p < 0 ? options_.lambda : 0}};
  const bool is_young = to_seconds(view.now - job.job.arrival) < restart_cost(job, view);
  const double restarted = is_young ? 1 : after_restart(job, view);
  for (const Configuration& each : configurations) {
    const bool stays = job.share == each.workers && job.pool() == each.pool;
    const double gain = each.goodput > 0 ? each.goodput / least : 1;
    const double valued = gain * (stays || job.share == 0 ? 1 : restarted);
    const double cost =
        valued > 0 ? sign * std::pow(valued, options_.p) : std::numeric_limits<double>::max();
    if (cost < item.front().cost || stays) {
      item.push_back({.pool = each.pool.value, .weight = each.workers, .cost = cost});
    }
  }
  return item;
}

void Sia::hold_round(const View& view, std::span<Seat> seats) {
  Shares shares;
  std::vector<int> rooms(view.capacity.begin(), view.capacity.end());
  for (const Pool& pool : view.topology.pools()) {
    shares.push_back(canonical_shares(pool, rooms[pool.id.value], options_.workers_max));
  }
  std::vector<Seat*> free;
  std::vector<PricedItem> items;
  for (Seat& seat : seats) {
    const JobState& job = *seat.job;
    if (job.share > 0 && job.progress.paused_until > view.now) {
      seat.pool = job.pool();  // It is still restarting: not to be moved again.
      seat.workers = job.share;
      rooms[seat.pool.value] -= seat.workers;
      continue;
    }
    free.push_back(&seat);
    items.push_back(item(job, view, configurations(job, view, shares)));
  }
  const PricedChoice choice = choose_priced(items, rooms);
  for (std::size_t i = 0; i < free.size(); ++i) {
    const PricedOption& option = items[i][choice.options[i]];
    free[i]->pool = PoolId{option.pool};
    free[i]->workers = option.weight;
  }
}

}  // namespace

std::unique_ptr<Policy> make_sia(const SiaOptions& options) {
  return std::make_unique<Sia>(options);
}

Result<std::unique_ptr<Policy>> make_sia(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 3> kKeys = {"p", "lambda", "max"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  SiaOptions chosen;
  const auto p = options.number("p", chosen.p, -100, 1);
  const auto lambda = options.number("lambda", chosen.lambda, 0, 1e6);
  const auto most = options.number("max", chosen.workers_max, 1, 1e6);
  if (!p || !lambda || !most) {
    return !p ? p.error() : !lambda ? lambda.error() : most.error();
  }
  if (*p == 0) {
    return bad_input("policy option p: expected a number from -100 to 1 other than 0");
  }
  chosen = {.p = *p, .lambda = *lambda, .workers_max = static_cast<int>(*most)};
  return make_sia(chosen);
}

PolicyInfo sia_policy() {
  return {.name = "sia",
          .paper = "Sia, SOSP'23",
          .fidelity = "as its artifact, but for prices in place of one large integer program",
          .objective = "goodput over several GPU types, shared fairly",
          .needs = "batch limits and step reports; else speed curves by type",
          .use_when = "the cluster has several GPU types and batch sizes may adapt",
          .options = "p=-0.5 (fairness exponent), lambda=1.1 (cost of waiting), max=64 (workers)",
          .make = make_sia};
}

}  // namespace rubato::policy::goodput
