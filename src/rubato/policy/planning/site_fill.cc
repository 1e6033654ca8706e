#include "rubato/policy/planning/site_fill.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rubato::policy::planning {
namespace {

using Counts = std::vector<int>;  // Workers per site.

std::vector<std::size_t> indices(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::size_t> by_worker_price(std::span<const SiteOffer> offers) {
  std::vector<std::size_t> order = indices(offers.size());
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return offers[i].worker_price; });
  return order;
}

std::vector<std::size_t> by_room(std::span<const SiteOffer> offers) {
  std::vector<std::size_t> order = indices(offers.size());
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return offers[i].workers; });
  return order;
}

// Takes workers in this order until all are placed, at most `host_max` on the host; nothing if
// there is no room for all.
std::optional<Counts> take_in_order(std::span<const SiteOffer> offers,
                                    std::span<const std::size_t> order, int workers,
                                    std::size_t host, int host_max) {
  Counts counts(offers.size(), 0);
  for (const std::size_t site : order) {
    const int most = site == host ? std::min(host_max, offers[site].workers) : offers[site].workers;
    counts[site] = std::min(workers, most);
    workers -= counts[site];
  }
  return workers == 0 ? std::optional(std::move(counts)) : std::nullopt;
}

// What these workers cost with their servers on `host`; nothing if the servers do not fit.
std::optional<double> cost_of(std::span<const SiteOffer> offers, const Crew& crew,
                              const Counts& counts, std::size_t host) {
  double cost = 0;
  for (std::size_t site = 0; site < offers.size(); ++site) {
    cost += counts[site] * offers[site].worker_price;
  }
  if (!crew.has_servers) {
    return cost;
  }
  const int servers = crew.servers(crew.workers - counts[host]);
  if (servers > offers[host].servers) {
    return std::nullopt;
  }
  return cost + servers * offers[host].server_price;
}

SiteAssignment posting(const Crew& crew, const Counts& counts, std::size_t host, double cost) {
  SiteAssignment made{.cost = cost};
  for (std::size_t site = 0; site < counts.size(); ++site) {
    if (counts[site] > 0) {
      made.workers.push_back({.site = site, .count = counts[site]});
    }
  }
  if (crew.has_servers) {
    made.servers = {.site = host, .count = crew.servers(crew.workers - counts[host])};
  }
  return made;
}

void keep_cheaper(std::optional<SiteAssignment>& best, std::span<const SiteOffer> offers,
                  const Crew& crew, const Counts& counts, std::size_t host) {
  const auto cost = cost_of(offers, crew, counts, host);
  if (cost && (!best || *cost < best->cost)) {
    best = posting(crew, counts, host, *cost);
  }
}

bool holds_all(const SiteOffer& offer, const Crew& crew) {
  return offer.workers >= crew.workers && (!crew.has_servers || offer.servers >= crew.servers(0));
}

SiteAssignment all_on(std::span<const SiteOffer> offers, const Crew& crew, std::size_t site) {
  Counts counts(offers.size(), 0);
  counts[site] = crew.workers;
  return posting(crew, counts, site, cost_of(offers, crew, counts, site).value_or(0));
}

// Brings workers from the dearest other sites onto the host, one by one, as long as it pays.
void gather_on(std::span<const SiteOffer> offers, const Crew& crew, std::size_t host,
               std::span<const std::size_t> order, Counts& counts) {
  for (auto from = order.rbegin(); from != order.rend(); ++from) {
    while (*from != host && counts[*from] > 0 && counts[host] < offers[host].workers) {
      const auto cost_before = cost_of(offers, crew, counts, host);
      --counts[*from];
      ++counts[host];
      const auto cost_after = cost_of(offers, crew, counts, host);
      // While servers do not fit yet, each worker moved brings them nearer to fitting.
      if (cost_before && (!cost_after || *cost_after >= *cost_before)) {
        ++counts[*from];
        --counts[host];
        break;
      }
    }
  }
}

}  // namespace

int Crew::servers(int remote) const {
  return std::max(1, static_cast<int>(std::ceil(remote * servers_per_worker - 1e-9)));
}

std::optional<std::vector<SiteCount>> fill_cheapest(std::span<const UnitOffer> offers, int count,
                                                    double& cost) {
  std::vector<std::size_t> order = indices(offers.size());
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return offers[i].price; });
  std::vector<SiteCount> taken;
  for (const std::size_t site : order) {
    const int here = std::min(count, offers[site].free);
    if (here > 0) {
      taken.push_back({.site = site, .count = here});
      cost += here * offers[site].price;
      count -= here;
    }
  }
  if (count > 0) {
    return std::nullopt;
  }
  std::ranges::sort(taken, {}, &SiteCount::site);
  return taken;
}

std::optional<SiteAssignment> together_cheapest(std::span<const SiteOffer> offers,
                                                const Crew& crew) {
  std::optional<SiteAssignment> best;
  for (std::size_t site = 0; site < offers.size(); ++site) {
    const SiteOffer& offer = offers[site];
    if (!holds_all(offer, crew)) {
      continue;
    }
    const double cost = crew.workers * offer.worker_price +
                        (crew.has_servers ? crew.servers(0) * offer.server_price : 0);
    if (!best || cost < best->cost) {
      best = all_on(offers, crew, site);
    }
  }
  return best;
}

std::optional<SiteAssignment> together_fullest(std::span<const SiteOffer> offers,
                                               const Crew& crew) {
  std::optional<std::size_t> fullest;
  for (std::size_t site = 0; site < offers.size(); ++site) {
    if (holds_all(offers[site], crew) &&
        (!fullest || offers[site].workers < offers[*fullest].workers)) {
      fullest = site;
    }
  }
  return fullest ? std::optional(all_on(offers, crew, *fullest)) : std::nullopt;
}

std::optional<SiteAssignment> apart_by_host(std::span<const SiteOffer> offers, const Crew& crew) {
  const std::vector<std::size_t> order = by_worker_price(offers);
  std::optional<SiteAssignment> best;
  const std::size_t hosts =
      crew.has_servers ? offers.size() : std::min<std::size_t>(1, order.size());
  for (std::size_t host = 0; host < hosts; ++host) {
    const int host_max = crew.has_servers ? crew.workers - 1 : crew.workers;
    if (const auto counts = take_in_order(offers, order, crew.workers, host, host_max)) {
      keep_cheaper(best, offers, crew, *counts, host);
    }
  }
  return best;
}

std::optional<SiteAssignment> apart_by_price(std::span<const SiteOffer> offers, const Crew& crew) {
  const std::vector<std::size_t> order = by_worker_price(offers);
  const auto cheapest = take_in_order(offers, order, crew.workers, offers.size(), 0);
  std::optional<SiteAssignment> best;
  if (!cheapest) {
    return best;
  }
  if (!crew.has_servers) {
    keep_cheaper(best, offers, crew, *cheapest, 0);
    return best;
  }
  for (std::size_t host = 0; host < offers.size(); ++host) {
    Counts counts = *cheapest;
    if (counts[host] == 0) {
      gather_on(offers, crew, host, order, counts);
    }
    keep_cheaper(best, offers, crew, counts, host);
  }
  return best;
}

std::optional<SiteAssignment> apart_fullest(std::span<const SiteOffer> offers, const Crew& crew) {
  const std::vector<std::size_t> order = by_room(offers);
  std::optional<SiteAssignment> best;
  if (!crew.has_servers) {
    if (const auto counts = take_in_order(offers, order, crew.workers, offers.size(), 0)) {
      keep_cheaper(best, offers, crew, *counts, 0);
    }
    return best;
  }
  for (std::size_t host = 0; host < offers.size(); ++host) {
    const int on_host = std::min(crew.workers - 1, offers[host].workers);
    auto counts = take_in_order(offers, order, crew.workers - on_host, host, 0);
    if (counts) {
      (*counts)[host] = on_host;
      keep_cheaper(best, offers, crew, *counts, host);
    }
  }
  return best;
}

}  // namespace rubato::policy::planning
