// The best window of a job in a pool, on the engine: crews from its curve, room from calendars.
//
// Joins window_search.h to what the engine knows: how fast a job is with n workers on one node or
// on several, when its data are there, what pausing costs. Jobs train by all-reduce: no servers.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "rubato/policy/planning/plan_book.h"
#include "rubato/policy/planning/window_search.h"
#include "rubato/policy/view.h"

namespace rubato::policy::planning {

/// Which site comes first, together and apart.
struct CrewRules {
  using Rule = std::optional<SiteAssignment> (*)(std::span<const SiteOffer>, const Crew&);
  Rule together = together_cheapest;
  Rule apart = apart_by_price;
};

/// The nodes of one pool as a market.
struct SiteMarket {
  PoolId pool{};
  std::vector<const UseCalendar*> room{};  // A crew must fit into each of these.
  const UseCalendar* prices = nullptr;     // Null: everything is free.
  PriceCurve curve{};
  Duration price_slot = std::chrono::seconds(1);
  bool one_price = false;  // For all nodes, by the use of the whole pool.
  bool crowds = false;     // Workers are charged one after another (PriceCurve::crowded).
  CrewRules rules{};
};

/// When to look for a window.
struct CrewTimes {
  std::vector<Instant> starts{};
  Instant last_finish = kNever;
};

/// Numbers of workers with which the job can run in the pool, and how long the rest of it takes,
/// the pause of starting included, on the grid of slots; at most `workers_max`, or its smallest
/// number.
[[nodiscard]] std::vector<CrewChoice> crews_of(const JobState& job, const Pool& pool,
                                               const View& view, int workers_max);

[[nodiscard]] std::optional<Booking> best_crew(const SiteMarket& market,
                                               std::vector<CrewChoice> crews,
                                               const CrewTimes& times,
                                               const std::function<double(Instant)>& value);

/// The shortest run of these; kLongest without any.
[[nodiscard]] Duration fastest_of(std::span<const CrewChoice> crews);

struct PoolBooking {
  PoolId pool{};
  Booking booking{};
};

/// Replaces `best` by a booking with a higher payoff, or the same and an earlier finish.
void keep_better(std::optional<PoolBooking>& best, PoolId pool, std::optional<Booking> found);

/// The booking as a plan.
[[nodiscard]] BookedPlan plan_of(const PoolBooking& found, const PlanBook& book);

/// Takes what the booking needs out of a calendar of the same sites.
void reserve(UseCalendar& calendar, const Booking& booking);

}  // namespace rubato::policy::planning
