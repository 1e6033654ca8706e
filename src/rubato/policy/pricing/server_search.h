// The best schedule of one elastic job on priced sites: OASiS (INFOCOM'18), algorithms 1 and 2.
//
// In each slot workers go to the cheapest sites that have room, and the parameter servers they need
// for their traffic to the cheapest of theirs; slot_search.h then chooses how many workers when. A
// job that trains by all-reduce has no servers.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "rubato/policy/planning/site_fill.h"
#include "rubato/policy/planning/use_calendar.h"
#include "rubato/policy/pricing/slot_search.h"

namespace rubato::policy::pricing {

/// Sites of one kind, and one price curve for each of their resources.
struct PricedSites {
  const planning::UseCalendar* calendar = nullptr;
  std::vector<planning::PriceCurve> prices{};
  /// The workers of a slot are priced one after another, by the first resource of the one site.
  bool crowds = false;
};

/// A job as the search sees it.
struct ElasticDemand {
  struct Count {
    int workers = 0;
    double gain = 0;  // Units of progress in a second; a slot's are rounded down.
  };

  int units = 1;
  std::vector<Count> counts{};        // Rising.
  std::vector<int> worker_demand{1};  // Of each resource of the worker sites.
  std::vector<int> server_demand{};   // Empty: no servers.
  double servers_per_worker = 0;      // Bandwidth of a worker over that of a server.
};

struct ElasticSearch {
  PricedSites workers{};
  PricedSites servers{};         // Not looked at by jobs without servers.
  std::vector<Instant> edges{};  // Slot i is from edge i to edge i + 1.
  Duration price_slot{};         // Prices are for this long.
};

/// What the job does in one slot.
struct SlotUse {
  planning::TimeWindow window{};
  int workers = 0;
  std::vector<planning::SiteCount> worker_sites{};
  std::vector<planning::SiteCount> server_sites{};
};

struct ElasticSchedule {
  std::vector<SlotUse> uses{};  // Slots with workers only, in order.
  double cost = 0;
  double value = 0;

  [[nodiscard]] double payoff() const { return value - cost; }
};

/// The highest payoff, be it negative; nothing if there is no room. `value` is asked for the end of
/// each slot and never rises.
[[nodiscard]] std::optional<ElasticSchedule> best_elastic(
    const ElasticSearch& search, const ElasticDemand& demand,
    const std::function<double(Instant finish)>& value);

}  // namespace rubato::policy::pricing
