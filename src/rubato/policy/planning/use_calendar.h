// What is in use at each site over future time, and what using more of it costs.
//
// A site is a node or a pool; on each there are resources (GPUs for workers, room for parameter
// servers). Built on the ledger, so cost grows with reservations and not with the horizon.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/ledger.h"
#include "rubato/policy/planning/exponential_price.h"

namespace rubato::policy::planning {

/// [from, to).
struct TimeWindow {
  Instant from{};
  Instant to{};
};

/// Units of each resource at each site: [site][resource].
using SiteCapacities = std::vector<std::vector<int>>;

/// Never over capacity except through set_capacity(), when machines break.
class UseCalendar {
 public:
  explicit UseCalendar(SiteCapacities capacity);

  [[nodiscard]] std::size_t sites() const { return capacity_.size(); }
  [[nodiscard]] int capacity(std::size_t site, std::size_t resource) const {
    return capacity_[site][resource];
  }
  [[nodiscard]] int capacity_of_all(std::size_t resource) const {
    return total_capacity_[resource];
  }
  /// The least that is free at any moment of the window; not below zero.
  [[nodiscard]] int free(std::size_t site, std::size_t resource, TimeWindow window) const;

  /// Cost of one unit over the window: the price at each moment, for a slot of length `slot`.
  [[nodiscard]] double price(std::size_t site, std::size_t resource, TimeWindow window,
                             const PriceCurve& curve, Duration slot) const;
  /// The same where one price holds for all sites, by the part of everything that is in use.
  [[nodiscard]] double price_of_all(std::size_t resource, TimeWindow window,
                                    const PriceCurve& curve, Duration slot) const;
  /// Free at all sites together, at the worst moment.
  [[nodiscard]] int free_of_all(std::size_t resource, TimeWindow window) const;

  void reserve(std::size_t site, std::size_t resource, TimeWindow window, int amount);
  void release(std::size_t site, std::size_t resource, TimeWindow window, int amount);

  /// From a moment on, whatever is reserved.
  void set_capacity(std::size_t site, std::size_t resource, Instant from, int amount);
  /// True if more is reserved than there is at some moment of the window.
  [[nodiscard]] bool is_overcommitted(std::size_t site, std::size_t resource,
                                      TimeWindow window) const;

  void forget_before(Instant moment);

 private:
  SiteCapacities capacity_;
  std::vector<std::vector<Ledger>> ledgers_;  // [site][resource]
  std::vector<int> total_capacity_;           // [resource]
  std::vector<Ledger> totals_;
};

}  // namespace rubato::policy::planning
