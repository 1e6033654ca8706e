// Test support: the world of the papers, with parameter servers and whole slots. Only tests include
// this.
//
// Sites have room for workers and for servers; a job has E epochs over D chunks of M mini-batches,
// each of which takes a time together and a longer one apart. Slot t is second t.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "rubato/policy/planning/crew_search.h"
#include "rubato/policy/planning/plan_times.h"
#include "rubato/policy/planning/window_search.h"

namespace rubato::policy {

struct ServerJob {
  int epochs = 1;
  int chunks = 1;  // Also the most workers.
  int batches = 1;
  double together = 1;  // Slots per mini-batch.
  double apart = 2;

  [[nodiscard]] std::vector<planning::CrewChoice> crews() const {
    std::vector<planning::CrewChoice> found;
    for (int n = 1; n <= chunks; ++n) {
      for (const bool is_together : {true, false}) {
        const double slots =
            std::ceil(epochs * chunks * batches * (is_together ? together : apart) / n - 1e-9);
        found.push_back({.crew = {.workers = n, .has_servers = true},
                         .together = is_together,
                         .run_time = from_seconds(slots)});
      }
    }
    return found;
  }
};

/// Prices of workers and of servers per slot.
struct ServerPrices {
  planning::PriceCurve workers{};
  planning::PriceCurve servers{};
  bool one_price = false;
};

class ServerWorld {
 public:
  explicit ServerWorld(const planning::SiteCapacities& capacity)
      : room_(capacity), sites_(capacity.size()) {}

  /// Data reach a site only at this moment.
  void set_ready(std::size_t site, double slot) {
    ready_.resize(sites_, at_seconds(0));
    ready_[site] = at_seconds(slot);
  }

  [[nodiscard]] planning::WindowSearch search(const ServerJob& job, int first, int last_finish,
                                              const ServerPrices& prices,
                                              const planning::CrewRules& rules) const {
    return {
        .crews = job.crews(),
        .starts = planning::slot_edges(at_seconds(first), std::chrono::seconds(1),
                                       last_finish - first, Duration{}, /*grows=*/false),
        .last_finish = at_seconds(last_finish),
        .value = [](Instant) { return 0.0; },
        .place =
            [this, prices, rules](const planning::CrewChoice& choice, planning::TimeWindow window) {
              const auto offers = offers_in(window, prices);
              return choice.together ? rules.together(offers, choice.crew)
                                     : rules.apart(offers, choice.crew);
            }};
  }

  void commit(const planning::Booking& booking) {
    for (const planning::SiteCount& each : booking.posting.workers) {
      room_.reserve(each.site, 0, booking.window, each.count);
    }
    const planning::SiteCount& servers = booking.posting.servers;
    room_.reserve(servers.site, 1, booking.window, servers.count);
  }

  [[nodiscard]] const planning::UseCalendar& room() const { return room_; }

 private:
  [[nodiscard]] std::vector<planning::SiteOffer> offers_in(planning::TimeWindow window,
                                                           const ServerPrices& prices) const {
    constexpr Duration kSlot = std::chrono::seconds(1);
    std::vector<planning::SiteOffer> offers(sites_);
    for (std::size_t site = 0; site < sites_; ++site) {
      if (!ready_.empty() && window.from < ready_[site]) {
        continue;
      }
      planning::SiteOffer& offer = offers[site];
      offer = {.workers = room_.free(site, 0, window), .servers = room_.free(site, 1, window)};
      if (prices.one_price) {
        offer.worker_price = room_.price_of_all(0, window, prices.workers, kSlot);
        offer.server_price = room_.price_of_all(1, window, prices.servers, kSlot);
      } else {
        offer.worker_price = room_.price(site, 0, window, prices.workers, kSlot);
        offer.server_price = room_.price(site, 1, window, prices.servers, kSlot);
      }
    }
    return offers;
  }

  planning::UseCalendar room_;
  std::size_t sites_;
  std::vector<Instant> ready_;
};

inline int first_slot(const planning::Booking& booking) {
  return static_cast<int>(to_seconds(booking.window.from));
}
inline int end_slot(const planning::Booking& booking) {
  return static_cast<int>(to_seconds(booking.window.to));
}

}  // namespace rubato::policy
