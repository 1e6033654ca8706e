#include "rubato/policy/reconstructed/bandit_pricing.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/policy/reconstructed/price_bandit.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::reconstructed {
namespace {

constexpr double kNewShare = 0.2;  // Of a new observation in the correction of expected times.

/// An offer and what became of it.
struct Sale {
  rounds::Gang gang{};
  std::size_t arm = 0;
  Duration expected{};      // Run time, as it was offered.
  Duration uncorrected{};   // The same by the speed book alone.
  bool together = false;    // Expected in one node.
  std::int64_t place = -1;  // In line; negative until it is accepted.
  Duration used{};          // Run time so far, up to `since`.
  Instant since = kNever;   // When it last started; kNever while it does not run.
};

class BanditPricing final : public Policy {
 public:
  explicit BanditPricing(BanditPricingOptions options)
      : options_(options),
        bandit_(price_grid(options.price_min, options.price_max, options.arms)) {}

  [[nodiscard]] Traits traits() const override { return Traits{}; }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  /// Kind of job, and whether it ran in one node.
  using Mode = std::pair<SpeedId, bool>;

  [[nodiscard]] Verdict offer(const JobState& job, const View& view);
  [[nodiscard]] Verdict answer(const OfferReply& reply);
  void finish(const Completion& completion, const View& view);
  void notice_stops(const View& view);
  [[nodiscard]] Decision hold_round(const View& view);
  [[nodiscard]] std::vector<int> free_by_node(const View& view) const;
  [[nodiscard]] std::optional<LimitedSupply> supply() const;
  [[nodiscard]] bool waits() const;

  BanditPricingOptions options_;
  PriceBandit bandit_;
  std::map<JobId, Sale> sales_;
  std::map<Mode, double> corrections_;  // Observed over expected run time.
  std::map<JobId, SpeedId> kinds_;      // Of the jobs in sales_.
  std::set<NodeId> down_;
  std::int64_t accepted_ = 0;
  rounds::RoundTimer timer_;
};

std::optional<LimitedSupply> BanditPricing::supply() const {
  if (options_.supply == 0) {
    return std::nullopt;
  }
  return LimitedSupply{.left = std::max<std::int64_t>(0, options_.supply - accepted_),
                       .buyers = options_.buyers};
}

bool BanditPricing::waits() const {
  return std::ranges::any_of(sales_, [](const auto& each) {
    return each.second.place >= 0 && each.second.since == kNever;
  });
}

// Free GPUs by node id; none on nodes that are down.
std::vector<int> BanditPricing::free_by_node(const View& view) const {
  std::vector<int> free;
  for (const Node& node : view.topology.nodes()) {
    free.push_back(down_.contains(node.id) ? 0 : node.gpus);
  }
  view.jobs.for_each([&](const JobState& job) {
    for (const NodeShare& share : view.topology.nodes_of(job.placement)) {
      free[share.node.value] -= share.workers;
    }
  });
  return free;
}

// On the node where fewest stay free, else on the emptiest nodes; empty if there is no room.
std::vector<NodeShare> placing(const rounds::Gang& gang, const View& view,
                               const std::vector<int>& free) {
  std::vector<NodeId> order = view.topology.pool(gang.pool).nodes;
  const auto free_on = [&](NodeId id) { return free[id.value]; };
  std::optional<NodeId> best;
  for (const NodeId id : order) {
    if (free_on(id) >= gang.workers && (!best || free_on(id) < free_on(*best))) {
      best = id;
    }
  }
  if (best) {
    return {{.node = *best, .workers = gang.workers}};
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, free_on);
  std::vector<NodeShare> where;
  int missing = gang.workers;
  for (const NodeId id : order) {
    const int some = std::min(missing, free_on(id));
    if (some > 0) {
      where.push_back({.node = id, .workers = some});
      missing -= some;
    }
  }
  std::ranges::sort(where);
  return missing == 0 ? where : std::vector<NodeShare>{};
}

Verdict BanditPricing::offer(const JobState& job, const View& view) {
  const auto gang = rounds::gang_of(job, view);
  if (!gang) {
    return Verdict{
        .job = job.id(), .kind = VerdictKind::Refuse, .reason = rounds::why_unrunnable(job, view)};
  }
  Sale sale{.gang = *gang, .arm = bandit_.choose(supply())};
  sale.together = placing(*gang, view, free_by_node(view)).size() == 1;
  const Locality apart =
      std::max(Locality::Rack, view.topology.narrowest_span(gang->pool, gang->workers));
  const Locality span = sale.together ? Locality::Node : apart;
  const double speed = view.speeds.speed(job.speed, gang->pool, gang->workers, span);
  sale.uncorrected = speed > 0 ? from_seconds_up(job.job.work / speed) : kLongest;
  const auto known = corrections_.find({job.speed, sale.together});
  const double correction = known == corrections_.end() ? 1 : known->second;
  sale.expected = from_seconds_up(to_seconds(sale.uncorrected) * correction);
  bandit_.offered(sale.arm);
  const double gpu_hours = to_seconds(sale.expected) / 3600 * gang->workers;
  const Verdict verdict{.job = job.id(),
                        .kind = VerdictKind::Offer,
                        .payment = bandit_.arms()[sale.arm].price * gpu_hours};
  sales_[job.id()] = sale;
  kinds_[job.id()] = job.speed;
  return verdict;
}

Verdict BanditPricing::answer(const OfferReply& reply) {
  Sale& sale = sales_.at(reply.job);
  const double hours = to_seconds(sale.expected) / 3600 * sale.gang.workers;
  Verdict verdict{.job = reply.job, .payment = bandit_.arms()[sale.arm].price * hours};
  if (reply.accepted) {
    bandit_.sold(sale.arm);
    sale.place = accepted_++;
    return verdict;
  }
  verdict.kind = VerdictKind::Refuse;
  verdict.reason = Reason::PriceDeclined;
  bandit_.learn(sale.arm, 0);
  sales_.erase(reply.job);
  kinds_.erase(reply.job);
  return verdict;
}

// Only now is known what the job was worth; what a cancelled one used is not typical of its kind.
void BanditPricing::finish(const Completion& completion, const View& view) {
  const auto found = sales_.find(completion.job);
  if (found == sales_.end()) {
    return;
  }
  const Sale& sale = found->second;
  const Duration used = sale.used + (sale.since == kNever ? Duration{} : view.now - sale.since);
  const double price = bandit_.arms()[sale.arm].price;
  const double margin = std::max(0.0, price - options_.cost) / (options_.price_max - options_.cost);
  const double most = std::max({to_seconds(used), to_seconds(sale.expected), 1e-6});
  bandit_.learn(sale.arm, sale.place < 0 ? 0 : std::min(1.0, margin * to_seconds(used) / most));
  if (completion.outcome == Outcome::Finished && sale.uncorrected > Duration{}) {
    const double seen = to_seconds(used) / to_seconds(sale.uncorrected);
    double& known =
        corrections_.try_emplace({kinds_.at(completion.job), sale.together}, 1.0).first->second;
    known += kNewShare * (seen - known);
  }
  kinds_.erase(completion.job);
  sales_.erase(found);
}

// Faults and quotas stop jobs without asking; they keep their place in line.
void BanditPricing::notice_stops(const View& view) {
  for (auto& [id, sale] : sales_) {
    const JobState* job = view.jobs.find(id);
    if (sale.since != kNever && job != nullptr && job->share == 0) {
      sale.used += view.now - sale.since;
      sale.since = kNever;
    }
  }
}

// Those who accepted first start first; in each pool the line waits for its first.
Decision BanditPricing::hold_round(const View& view) {
  timer_.held(view.now);
  std::vector<int> left(view.capacity.begin(), view.capacity.end());
  std::map<std::int64_t, JobId> line;
  for (const auto& [id, sale] : sales_) {
    if (sale.since != kNever) {
      left[sale.gang.pool.value] -= sale.gang.workers;
    } else if (sale.place >= 0) {
      line.emplace(sale.place, id);
    }
  }
  std::vector<int> free = free_by_node(view);
  std::vector<bool> is_blocked(left.size(), false);
  Decision decision{.is_round = true};
  for (const auto& [place, id] : line) {
    Sale& sale = sales_.at(id);
    const std::size_t pool = sale.gang.pool.value;
    is_blocked[pool] = is_blocked[pool] || sale.gang.workers > left[pool];
    if (is_blocked[pool]) {
      continue;
    }
    left[pool] -= sale.gang.workers;
    sale.since = view.now;
    Target target{.job = id, .pool = sale.gang.pool, .workers = sale.gang.workers};
    target.nodes = placing(sale.gang, view, free);
    for (const NodeShare& share : target.nodes) {
      free[share.node.value] -= share.workers;
    }
    decision.targets.push_back(std::move(target));
  }
  return decision;
}

Decision BanditPricing::on(const Event& event, const View& view) {
  if (std::holds_alternative<Tick>(event)) {
    return hold_round(view);
  }
  Decision decision;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(offer(view.jobs.at(arrival->job.id), view));
  } else if (const auto* reply = std::get_if<OfferReply>(&event)) {
    const auto found = sales_.find(reply->job);
    if (found != sales_.end() && found->second.place < 0) {
      decision.verdicts.push_back(answer(*reply));
    }
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    finish(*completion, view);
  } else if (const auto* change = std::get_if<NodeChange>(&event)) {
    change->up ? static_cast<void>(down_.erase(change->node))
               : static_cast<void>(down_.insert(change->node));
    notice_stops(view);
  } else {
    notice_stops(view);
  }
  decision.wake_at = waits() ? timer_.next(view.now, view.slot) : kNever;
  return decision;
}

std::string BanditPricing::save() const {
  const auto count = [](Instant at) { return at.time_since_epoch().count(); };
  std::string state;
  append_line(state, "round", {count(timer_.last()), accepted_});
  for (const PriceArm& arm : bandit_.arms()) {
    append_line(state, "arm", {arm.offers, arm.rewards, arm.sales, bits_of(arm.sum)});
  }
  for (const auto& [mode, correction] : corrections_) {
    append_line(
        state, "kind",
        {static_cast<std::int64_t>(mode.first.value), mode.second ? 1 : 0, bits_of(correction)});
  }
  for (const NodeId node : down_) {
    append_line(state, "down", {static_cast<std::int64_t>(node.value)});
  }
  for (const auto& [id, sale] : sales_) {
    append_line(
        state, "sale",
        {static_cast<std::int64_t>(id.value), static_cast<std::int64_t>(sale.gang.pool.value),
         sale.gang.workers, static_cast<std::int64_t>(sale.arm), sale.expected.count(),
         sale.uncorrected.count(), sale.together ? 1 : 0, sale.place, sale.used.count(),
         count(sale.since), static_cast<std::int64_t>(kinds_.at(id).value)});
  }
  return state;
}

Status BanditPricing::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  *this = BanditPricing(options_);
  std::size_t arm = 0;
  for (const SavedLine& line : *lines) {
    const auto& n = line.numbers;
    const auto id = [&](std::size_t i) { return static_cast<std::uint64_t>(n[i]); };
    if (line.word == "round" && n.size() == 2) {
      timer_.held(Instant{Duration{n[0]}});
      accepted_ = n[1];
    } else if (line.word == "arm" && n.size() == 4 && arm < bandit_.arms().size()) {
      bandit_.restore(arm, {.price = bandit_.arms()[arm].price,
                            .offers = n[0],
                            .rewards = n[1],
                            .sales = n[2],
                            .sum = double_of(n[3])});
      ++arm;
    } else if (line.word == "kind" && n.size() == 3) {
      corrections_[{SpeedId{id(0)}, n[1] != 0}] = double_of(n[2]);
    } else if (line.word == "down" && n.size() == 1) {
      down_.insert(NodeId{id(0)});
    } else if (line.word == "sale" && n.size() == 11) {
      sales_[JobId{id(0)}] = Sale{
          .gang = {.pool = PoolId{id(1)}, .workers = static_cast<int>(n[2])},
          .arm = static_cast<std::size_t>(std::clamp<std::int64_t>(n[3], 0, options_.arms - 1)),
          .expected = Duration{n[4]},
          .uncorrected = Duration{n[5]},
          .together = n[6] != 0,
          .place = n[7],
          .used = Duration{n[8]},
          .since = Instant{Duration{n[9]}}};
      kinds_[JobId{id(0)}] = SpeedId{id(10)};
    } else {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_bandit_pricing(BanditPricingOptions options) {
  return std::make_unique<BanditPricing>(options);
}

Result<std::unique_ptr<Policy>> make_bandit_pricing(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 6> kKeys = {"price_min", "price_max", "arms",
                                                            "cost",      "supply",    "buyers"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const BanditPricingOptions defaults;
  const auto low = options.number("price_min", defaults.price_min, 1e-9, 1e9);
  const auto high = options.number("price_max", defaults.price_max, 1e-9, 1e9);
  const auto arms = options.number("arms", defaults.arms, 1, 1000);
  const auto cost = options.number("cost", defaults.cost, 0, 1e9);
  const auto supply = options.number("supply", static_cast<double>(defaults.supply), 0, 1e9);
  const auto buyers = options.number("buyers", static_cast<double>(defaults.buyers), 1, 1e9);
  for (const auto* number : {&low, &high, &arms, &cost, &supply, &buyers}) {
    if (!*number) {
      return number->error();
    }
  }
  if (*low > *high || *cost >= *high) {
    return bad_input("bandit-pricing: price_min and cost must lie below price_max");
  }
  return make_bandit_pricing(BanditPricingOptions{.price_min = *low,
                                                  .price_max = *high,
                                                  .arms = static_cast<int>(*arms),
                                                  .cost = *cost,
                                                  .supply = static_cast<std::int64_t>(*supply),
                                                  .buyers = static_cast<std::int64_t>(*buyers)});
}

PolicyInfo bandit_pricing_policy() {
  return {.name = "bandit-pricing",
          .paper = "Zhou et al., JSAC 2023",
          .fidelity = "after the abstract of the paper; the details are ours",
          .objective = "profit of the provider",
          .needs = "requested GPUs, run time, value",
          .use_when = "GPU hours are sold and nobody knows what they are worth to buyers",
          .options = "price_min=0.001,price_max=1 (per GPU-h),arms=8,cost=0,supply=0,buyers=1000",
          .make = make_bandit_pricing};
}

}  // namespace rubato::policy::reconstructed
