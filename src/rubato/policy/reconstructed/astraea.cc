#include "rubato/policy/reconstructed/astraea.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "rubato/policy/planning/crew_search.h"
#include "rubato/policy/reconstructed/batching_policy.h"
#include "rubato/policy/reconstructed/tenant_reserve.h"

namespace rubato::policy::reconstructed {
namespace {

using planning::BookedPlan;
using planning::PoolBooking;
using planning::UseCalendar;

constexpr std::size_t kBatchJobsMax = 64;  // Of one batch.
constexpr planning::CrewRules kRules = {.together = planning::together_fullest,
                                        .apart = planning::apart_fullest};

/// A job of a batch.
struct PayingEntrant {
  const JobState* job = nullptr;
  planning::JobWorth worth;
  double payoff = 0;  // Of the place it has now.
  double payment = 0;
  bool is_placed = false;
};

/// A tenant during a batch.
struct Party {
  TenantShare tenant{};
  std::vector<UseCalendar> reserve{};   // [pool]
  std::vector<PayingEntrant*> queue{};  // Still to be placed, the next one last.
  double used = 0;                      // GPU-seconds of this batch.
};

class Astraea final : public BatchingPolicy {
 public:
  explicit Astraea(const AstraeaOptions& options)
      : BatchingPolicy(planning::SiteKind::Nodes, {.horizon = options.horizon},
                       {.slot = options.slot, .slots_max = options.window}) {}

 protected:
  Verdict judge(const JobState& job, const View& view) override {
    enter(job, view);
    return Verdict{.job = job.id(), .kind = VerdictKind::Defer, .reason = Reason::WaitingForTurn};
  }

  void decide(const View& view, Decision& decision) override {
    std::vector<PayingEntrant> entrants;
    for (const JobId id : pending()) {
      if (entrants.size() == kBatchJobsMax) {
        break;
      }
      const JobState& job = view.jobs.at(id);
      entrants.push_back({.job = &job, .worth = planning::JobWorth(job, view)});
    }
    std::vector<Party> parties = parties_of(entrants, view);
    std::vector<PayingEntrant*> order = use_reserves(parties, view);
    for (PayingEntrant& each : entrants) {
      if (std::ranges::find(order, &each) == order.end()) {
        order.push_back(&each);  // Its tenant has no share.
      }
    }
    trade(order, view);
    for (const PayingEntrant& each : entrants) {
      conclude(each, view, decision);
    }
  }

 private:
  // Tenants with what they reserve, less what their running jobs hold of it.
  [[nodiscard]] std::vector<Party> parties_of(std::vector<PayingEntrant>& entrants,
                                              const View& view) const {
    std::vector<Party> parties;
    for (const TenantShare& tenant : tenants_of(view)) {
      parties.push_back({.tenant = tenant});
    }
    const auto shares = tenants_of(view);
    for (const Pool& pool : view.topology.pools()) {
      auto reserves = reserves_of(shares, pool, view.topology);
      for (std::size_t i = 0; i < parties.size(); ++i) {
        parties[i].reserve.emplace_back(std::move(reserves[i]));
      }
    }
    for (auto each = entrants.rbegin(); each != entrants.rend(); ++each) {
      if (Party* party = party_of(parties, *each->job)) {
        party->queue.push_back(&*each);
      }
    }
    for (const auto& [id, plan] : book().plans()) {
      if (Party* party = party_of(parties, view.jobs.at(id))) {
        occupy(party->reserve[plan.pool.value], plan, view);
      }
    }
    return parties;
  }

  static Party* party_of(std::vector<Party>& parties, const JobState& job) {
    const auto found = std::ranges::find_if(
        parties, [&](const Party& party) { return party.tenant.name == job.job.tenant; });
    return found == parties.end() || found->tenant.share <= 0 ? nullptr : &*found;
  }

  // An older plan may lie outside of the reserve, or in one that has shrunk.
  void occupy(UseCalendar& reserve, const BookedPlan& plan, const View& view) const {
    const std::vector<NodeId>& nodes = view.topology.pool(plan.pool).nodes;
    for (const planning::BookedSegment& segment : plan.segments) {
      const planning::TimeWindow window{std::max(segment.window.from, view.now), segment.window.to};
      if (window.from >= window.to) {
        continue;
      }
      for (const NodeShare& share : segment.nodes) {
        const auto site =
            static_cast<std::size_t>(std::ranges::find(nodes, share.node) - nodes.begin());
        reserve.reserve(site, 0, window, std::min(share.workers, reserve.free(site, 0, window)));
      }
    }
  }

  // Each tenant in turn places its next job in its own reserve, for nothing. Returns the turns.
  std::vector<PayingEntrant*> use_reserves(std::vector<Party>& parties, const View& view) {
    std::vector<PayingEntrant*> turns;
    while (true) {
      Party* next = nullptr;
      for (Party& party : parties) {
        const auto use = [](const Party& each) { return each.used / each.tenant.share; };
        if (!party.queue.empty() && (next == nullptr || use(party) < use(*next))) {
          next = &party;
        }
      }
      if (next == nullptr) {
        return turns;
      }
      PayingEntrant& entrant = *next->queue.back();
      next->queue.pop_back();
      turns.push_back(&entrant);
      const auto found = search(entrant, view, next, 0);
      if (!found || found->booking.value <= 0) {
        continue;
      }
      const planning::Booking& booking = found->booking;
      reserve(next->reserve[found->pool.value], booking);
      next->used += booking.choice.crew.workers * to_seconds(booking.choice.run_time);
      book().set(entrant.job->id(), planning::plan_of(*found, book()), view.now);
      entrant.is_placed = true;
      entrant.payoff = booking.value;
    }
  }

  // Each job may leave its place for a hole that is worth more to it, price and all.
  void trade(const std::vector<PayingEntrant*>& order, const View& view) {
    double theta = 1;
    for (const PayingEntrant* each : order) {
      const planning::JobNeeds needs = planning::needs_of(*each->job, view);
      const double slots = needs.gpu_time / to_seconds(batch_slot(view));
      const double value = each->worth.at(later(view.now, needs.fastest));
      theta = std::max(theta, 1 + value / std::max(slots, 1e-9));
    }
    for (PayingEntrant* each : order) {
      const JobId id = each->job->id();
      const BookedPlan* home = book().find(id);
      const std::optional<BookedPlan> kept = home ? std::optional(*home) : std::nullopt;
      book().drop(id, view.now);
      const auto found = search(*each, view, nullptr, theta);
      if (found && found->booking.payoff() > each->payoff) {
        book().set(id, planning::plan_of(*found, book()), view.now);
        each->is_placed = true;
        each->payoff = found->booking.payoff();
        each->payment = found->booking.posting.cost;
      } else if (kept) {
        book().set(id, *kept, view.now);
      }
    }
  }

  // The best window in the tenant's reserve, or, without a party, anywhere at a price. The paper's
  // jobs run on at most as many workers as they have data chunks; ours, on the GPUs they asked for,
  // or on more if only that meets a deadline.
  [[nodiscard]] std::optional<PoolBooking> search(const PayingEntrant& entrant, const View& view,
                                                  const Party* party, double theta) const {
    const Job& job = entrant.job->job;
    auto best = search_up_to(job.requested, entrant, view, party, theta);
    if (job.has_deadline() && (!best || best->booking.payoff() <= 0)) {
      best = search_up_to(std::numeric_limits<int>::max(), entrant, view, party, theta);
    }
    return best;
  }

  [[nodiscard]] std::optional<PoolBooking> search_up_to(int workers_max,
                                                        const PayingEntrant& entrant,
                                                        const View& view, const Party* party,
                                                        double theta) const {
    const JobState& job = *entrant.job;
    // In its reserve a tenant must find what it would find alone: others' plans do not matter.
    std::function<bool(JobId)> counts;
    if (party != nullptr) {
      counts = [&](JobId id) { return view.jobs.at(id).job.tenant == party->tenant.name; };
    }
    std::optional<PoolBooking> best;
    for (const Pool& pool : view.topology.pools()) {
      const UseCalendar& calendar = book().calendar(pool.id);
      planning::SiteMarket market{.pool = pool.id, .room = {&calendar}, .rules = kRules};
      if (party != nullptr) {
        market.room.push_back(&party->reserve[pool.id.value]);
      } else {
        market.prices = &calendar;
        market.curve = planning::from_zero(theta);
        market.price_slot = batch_slot(view);
        market.one_price = true;
      }
      const auto crews = planning::crews_of(job, pool, view, workers_max);
      planning::keep_better(
          best, pool.id,
          planning::best_crew(
              market, crews,
              {.starts = starts_of(job, pool.id, planning::fastest_of(crews), view, counts)},
              [&](Instant finish) { return entrant.worth.at(finish); }));
    }
    return best;
  }

  void conclude(const PayingEntrant& entrant, const View& view, Decision& decision) {
    const JobState& job = *entrant.job;
    if (entrant.is_placed) {
      decision.verdicts.push_back({.job = job.id(), .payment = entrant.payment});
      pending().erase(job.id());
      return;
    }
    const Instant earliest = later(view.now, planning::needs_of(job, view).fastest);
    if (entrant.worth.may_be_refused() && entrant.worth.at(earliest) <= 0) {
      decision.verdicts.push_back(turn_down(job, entrant.worth, view));
      pending().erase(job.id());
    } else if (entrant.worth.at(earliest) <= 0) {
      decision.verdicts.push_back({.job = job.id()});
      pending().erase(job.id());
      wait(job.id());  // Worth nothing to anybody, but to be finished all the same.
    }
  }
};

}  // namespace

std::unique_ptr<Policy> make_astraea(const AstraeaOptions& options) {
  return std::make_unique<Astraea>(options);
}

Result<std::unique_ptr<Policy>> make_astraea(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 3> kKeys = {"slot", "window", "horizon"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  AstraeaOptions chosen;
  const auto slot = options.number("slot", 0, 0, 1e9);
  const auto window = options.number("window", chosen.window, 1, 1e6);
  const auto horizon = options.number("horizon", chosen.horizon, 1, 10'000);
  if (!slot || !window || !horizon) {
    return !slot ? slot.error() : !window ? window.error() : horizon.error();
  }
  chosen.slot = from_seconds(*slot);
  chosen.window = static_cast<int>(*window);
  chosen.horizon = static_cast<int>(*horizon);
  return make_astraea(chosen);
}

PolicyInfo astraea_policy() {
  return {.name = "astraea",
          .paper = "Astraea, IEEE TC'22",
          .fidelity = "after Astraea: batches and trading are ours",
          .objective = "total value; no tenant worse off than on its own share",
          .needs = "speed curve, value, tenant shares",
          .use_when = "tenants own parts of the cluster and lend what they do not use",
          .options = "slot=0 (s, 0: a minute), window=16 (slots), horizon=100",
          .make = make_astraea};
}

}  // namespace rubato::policy::reconstructed
