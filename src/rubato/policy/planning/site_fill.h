// Where a job's workers and parameter servers go during one window, and what that costs.
//
// All on one site ("together", COST_C of DPS) or spread ("apart", COST_D); A_online, DPS and
// Astraea differ only in which site comes first. All servers of a job stand on one site, the host.
// Workers beside them need none of the link, the others share as many servers as their traffic asks
// for. A job that trains by all-reduce has no servers: then only the workers are placed.
//
// Ties go to the lowest site.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace rubato::policy::planning {

/// What a site has to give over a whole window; prices of one unit, for all of it.
struct SiteOffer {
  int workers = 0;
  int servers = 0;
  double worker_price = 0;
  double server_price = 0;
};

struct Crew {
  int workers = 0;
  bool has_servers = false;
  double servers_per_worker = 1;  // Per worker that is not on the host: bandwidth over bandwidth.

  /// Needed if so many workers are not on the host; never none.
  [[nodiscard]] int servers(int remote) const;
};

struct SiteCount {
  std::size_t site = 0;
  int count = 0;

  friend bool operator==(const SiteCount&, const SiteCount&) = default;
};

struct SiteAssignment {
  std::vector<SiteCount> workers{};  // In the order of sites.
  SiteCount servers{};               // No count without servers.
  double cost = 0;
};

/// A number of units of one kind, for the sites that can take them.
struct UnitOffer {
  int free = 0;
  double price = 0;
};

/// The cheapest way to place `count` units; nothing if there is no room. Cost is added to `cost`.
[[nodiscard]] std::optional<std::vector<SiteCount>> fill_cheapest(std::span<const UnitOffer> offers,
                                                                  int count, double& cost);

/// On the cheapest site that can take all.
[[nodiscard]] std::optional<SiteAssignment> together_cheapest(std::span<const SiteOffer> offers,
                                                              const Crew& crew);
/// On the site with the least room that can take all (Astraea).
[[nodiscard]] std::optional<SiteAssignment> together_fullest(std::span<const SiteOffer> offers,
                                                             const Crew& crew);

/// A_online: for each host in turn, workers by price, not all of them on the host.
[[nodiscard]] std::optional<SiteAssignment> apart_by_host(std::span<const SiteOffer> offers,
                                                          const Crew& crew);
/// DPS: workers by price; then each site as host, to which workers move while that makes it
/// cheaper.
[[nodiscard]] std::optional<SiteAssignment> apart_by_price(std::span<const SiteOffer> offers,
                                                           const Crew& crew);
/// Astraea: for each host in turn, as many workers on it as fit but not all, the others where there
/// is least room, so that large holes stay whole.
[[nodiscard]] std::optional<SiteAssignment> apart_fullest(std::span<const SiteOffer> offers,
                                                          const Crew& crew);

}  // namespace rubato::policy::planning
