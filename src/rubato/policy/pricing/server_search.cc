#include "rubato/policy/pricing/server_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rubato::policy::pricing {
namespace {

using planning::TimeWindow;
using planning::UnitOffer;

TimeWindow slot_window(const ElasticSearch& search, int slot) {
  const auto i = static_cast<std::size_t>(slot);
  return {.from = search.edges[i], .to = search.edges[i + 1]};
}

// How many units of this demand each site can still take in the window, and what one costs.
std::vector<UnitOffer> offers_of(const PricedSites& sites, std::span<const int> demand,
                                 TimeWindow window, Duration price_slot) {
  std::vector<UnitOffer> offers;
  for (std::size_t site = 0; site < sites.calendar->sites(); ++site) {
    UnitOffer offer{.free = std::numeric_limits<int>::max()};
    for (std::size_t resource = 0; resource < demand.size(); ++resource) {
      if (demand[resource] == 0) {
        continue;
      }
      offer.free =
          std::min(offer.free, sites.calendar->free(site, resource, window) / demand[resource]);
      offer.price += demand[resource] * sites.calendar->price(site, resource, window,
                                                              sites.prices[resource], price_slot);
    }
    offers.push_back(offer);
  }
  return offers;
}

/// The sites of one slot, asked once and then for every number of workers.
class SlotMarket {
 public:
  SlotMarket(const ElasticSearch& search, const ElasticDemand& demand, TimeWindow window)
      : search_(search),
        demand_(demand),
        window_(window),
        workers_(offers_of(search.workers, demand.worker_demand, window, search.price_slot)) {
    if (!demand.server_demand.empty()) {
      servers_ = offers_of(search.servers, demand.server_demand, window, search.price_slot);
    }
  }

  /// Where so many workers go; adds to `cost`. Nothing if they or their servers do not fit.
  [[nodiscard]] std::optional<SlotUse> use(int workers, double& cost) const {
    double worker_cost = 0;
    auto worker_sites = planning::fill_cheapest(workers_, workers, worker_cost);
    if (!worker_sites) {
      return std::nullopt;
    }
    cost += search_.workers.crowds ? crowded_cost(workers) : worker_cost;
    SlotUse made{.window = window_, .workers = workers, .worker_sites = *std::move(worker_sites)};
    if (!demand_.server_demand.empty()) {
      const auto count = static_cast<int>(std::ceil(workers * demand_.servers_per_worker - 1e-9));
      auto server_sites = planning::fill_cheapest(servers_, count, cost);
      if (!server_sites) {
        return std::nullopt;
      }
      made.server_sites = *std::move(server_sites);
    }
    return made;
  }

 private:
  [[nodiscard]] double crowded_cost(int workers) const {
    const double slots = to_seconds(window_.to - window_.from) / to_seconds(search_.price_slot);
    return search_.workers.prices.front().crowded(workers_.front().price, slots, workers,
                                                  search_.workers.calendar->capacity(0, 0));
  }

  const ElasticSearch& search_;
  const ElasticDemand& demand_;
  TimeWindow window_;
  std::vector<UnitOffer> workers_;
  std::vector<UnitOffer> servers_;
};

}  // namespace

std::optional<ElasticSchedule> best_elastic(const ElasticSearch& search,
                                            const ElasticDemand& demand,
                                            const std::function<double(Instant finish)>& value) {
  const auto choices = [&](int slot) {
    const TimeWindow window = slot_window(search, slot);
    const SlotMarket market(search, demand, window);
    std::vector<SlotChoice> found;
    for (const ElasticDemand::Count& count : demand.counts) {
      double cost = 0;
      if (!market.use(count.workers, cost)) {
        break;  // More workers will not fit, either.
      }
      const double gain = std::floor(count.gain * to_seconds(window.to - window.from) + 1e-9);
      found.push_back({.workers = count.workers,
                       .gain = static_cast<int>(std::min<double>(gain, demand.units)),
                       .cost = cost});
    }
    return found;
  };
  const auto best =
      best_slots({.slots = static_cast<int>(search.edges.size()) - 1,
                  .units = demand.units,
                  .choices = choices,
                  .value = [&](int slot) { return value(slot_window(search, slot).to); }});
  if (!best) {
    return std::nullopt;
  }
  ElasticSchedule schedule{.cost = best->cost, .value = best->value};
  for (std::size_t slot = 0; slot < best->workers.size(); ++slot) {
    if (best->workers[slot] > 0) {
      const SlotMarket market(search, demand, slot_window(search, static_cast<int>(slot)));
      double cost = 0;
      schedule.uses.push_back(market.use(best->workers[slot], cost).value());
    }
  }
  return schedule;
}

}  // namespace rubato::policy::pricing
