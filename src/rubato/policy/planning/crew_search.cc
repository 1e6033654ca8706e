#include "rubato/policy/planning/crew_search.h"

#include <algorithm>
#include <utility>

#include "rubato/policy/planning/plan_times.h"

namespace rubato::policy::planning {
namespace {

// How far apart workers on several nodes of the pool may be.
Locality widest_span(const Pool& pool, const Topology& topology) {
  const int rack = topology.node(pool.nodes.front()).rack;
  const bool one_rack = std::ranges::all_of(
      pool.nodes, [&](NodeId node) { return topology.node(node).rack == rack; });
  return one_rack ? Locality::Rack : Locality::Across;
}

// What each node can give over the window; nodes with less than `least` free give nothing.
std::vector<SiteOffer> offers_of(const SiteMarket& market, TimeWindow window, int least) {
  std::vector<SiteOffer> offers(market.room.front()->sites());
  double price = 0;
  if (market.prices != nullptr && market.one_price) {
    price = market.prices->price_of_all(0, window, market.curve, market.price_slot);
  }
  for (std::size_t site = 0; site < offers.size(); ++site) {
    int free = market.room.front()->free(site, 0, window);
    for (std::size_t i = 1; i < market.room.size() && free >= least; ++i) {
      free = std::min(free, market.room[i]->free(site, 0, window));
    }
    if (free < least) {
      continue;
    }
    offers[site].workers = free;
    offers[site].worker_price = price;
    if (market.prices != nullptr && !market.one_price) {
      offers[site].worker_price =
          market.prices->price(site, 0, window, market.curve, market.price_slot);
    }
  }
  return offers;
}

std::optional<SiteAssignment> place(const SiteMarket& market, const CrewChoice& choice,
                                    TimeWindow window) {
  const int workers = choice.crew.workers;
  for (const UseCalendar* calendar : market.room) {
    if (calendar->free_of_all(0, window) < workers) {
      return std::nullopt;  // Saves a look at every node.
    }
  }
  const auto offers = offers_of(market, window, choice.together ? workers : 1);
  auto posting = choice.together ? market.rules.together(offers, choice.crew)
                                 : market.rules.apart(offers, choice.crew);
  if (posting && market.crowds) {
    const double slots = to_seconds(window.to - window.from) / to_seconds(market.price_slot);
    posting->cost = market.curve.crowded(posting->cost / workers, slots, workers,
                                         market.prices->capacity_of_all(0));
  }
  return posting;
}

}  // namespace

std::vector<CrewChoice> crews_of(const JobState& job, const Pool& pool, const View& view,
                                 int workers_max) {
  const ScalingCurve& curve = view.curve(job, pool.id);
  std::vector<CrewChoice> crews;
  if (curve.empty()) {
    return crews;
  }
  const double work = job.work_left(view.now) / job.speed_factor;
  const auto add = [&](int workers, bool together, Locality span) {
    const double speed = view.speeds.speed(job.speed, pool.id, workers, span);
    if (!(speed > 0)) {
      return;
    }
    const Duration busy =
        from_seconds_up(work / speed) + foreseen_pause(view.costs, job.job, 0, workers);
    const Duration whole =
        on_grid(Instant{std::max(busy, Duration{1})}, view.slot).time_since_epoch();
    crews.push_back({.crew = {.workers = workers}, .together = together, .run_time = whole});
  };
  const int most = std::max(workers_max, curve.smallest().workers);
  const Locality apart = widest_span(pool, view.topology);
  for (const ScalingPoint& point : curve.points()) {
    if (point.workers > most) {
      break;
    }
    if (point.workers <= pool.gpus_per_node) {
      add(point.workers, true, Locality::Node);
    }
    if (point.workers > 1 && pool.nodes.size() > 1) {
      add(point.workers, false, apart);
    }
  }
  return crews;
}

std::optional<Booking> best_crew(const SiteMarket& market, std::vector<CrewChoice> crews,
                                 const CrewTimes& times,
                                 const std::function<double(Instant)>& value) {
  return best_window({.crews = std::move(crews),
                      .starts = times.starts,
                      .last_finish = std::min(times.last_finish, kNever - Duration{1}),
                      .value = value,
                      .place = [&](const CrewChoice& choice, TimeWindow window) {
                        return place(market, choice, window);
                      }});
}

Duration fastest_of(std::span<const CrewChoice> crews) {
  Duration fastest = kLongest;
  for (const CrewChoice& each : crews) {
    fastest = std::min(fastest, each.run_time);
  }
  return fastest;
}

void keep_better(std::optional<PoolBooking>& best, PoolId pool, std::optional<Booking> found) {
  if (!found) {
    return;
  }
  if (best) {
    const Booking& old = best->booking;
    const bool is_better = found->payoff() != old.payoff() ? found->payoff() > old.payoff()
                                                           : found->window.to < old.window.to;
    if (!is_better) {
      return;
    }
  }
  best = PoolBooking{.pool = pool, .booking = *std::move(found)};
}

BookedPlan plan_of(const PoolBooking& found, const PlanBook& book) {
  const Booking& booking = found.booking;
  BookedSegment segment{.window = booking.window, .workers = booking.choice.crew.workers};
  for (const SiteCount& each : booking.posting.workers) {
    segment.nodes.push_back({.node = book.node(found.pool, each.site), .workers = each.count});
  }
  return {.pool = found.pool, .segments = {std::move(segment)}};
}

void reserve(UseCalendar& calendar, const Booking& booking) {
  for (const SiteCount& each : booking.posting.workers) {
    calendar.reserve(each.site, 0, booking.window, each.count);
  }
}

}  // namespace rubato::policy::planning
