#include "rubato/policy/planning/use_calendar.h"

#include <algorithm>

namespace rubato::policy::planning {
namespace {

// Price times time over the runs of equal use.
double integral(const Ledger& ledger, int capacity, TimeWindow window, const PriceCurve& curve,
                Duration slot) {
  if (capacity <= 0) {
    return 0;
  }
  double cost = 0;
  ledger.for_each_run(window.from, window.to, capacity, [&](Instant from, Instant to, int free) {
    const double part = static_cast<double>(capacity - free) / capacity;
    cost += curve.at(part) * (to_seconds(to - from) / to_seconds(slot));
    return true;
  });
  return cost;
}

}  // namespace

UseCalendar::UseCalendar(SiteCapacities capacity) : capacity_(std::move(capacity)) {
  total_capacity_.assign(capacity_.empty() ? 0 : capacity_.front().size(), 0);
  for (const std::vector<int>& site : capacity_) {
    std::vector<Ledger>& ledgers = ledgers_.emplace_back();
    for (std::size_t resource = 0; resource < site.size(); ++resource) {
      ledgers.emplace_back(site[resource]);
      total_capacity_[resource] += site[resource];
    }
  }
  for (const int amount : total_capacity_) {
    totals_.emplace_back(amount);
  }
}

int UseCalendar::free(std::size_t site, std::size_t resource, TimeWindow window) const {
  return std::max(0, ledgers_[site][resource].min_free(window.from, window.to));
}

double UseCalendar::price(std::size_t site, std::size_t resource, TimeWindow window,
                          const PriceCurve& curve, Duration slot) const {
  return integral(ledgers_[site][resource], capacity_[site][resource], window, curve, slot);
}

double UseCalendar::price_of_all(std::size_t resource, TimeWindow window, const PriceCurve& curve,
                                 Duration slot) const {
  return integral(totals_[resource], total_capacity_[resource], window, curve, slot);
}

int UseCalendar::free_of_all(std::size_t resource, TimeWindow window) const {
  return std::max(0, totals_[resource].min_free(window.from, window.to));
}

void UseCalendar::reserve(std::size_t site, std::size_t resource, TimeWindow window, int amount) {
  ledgers_[site][resource].reserve(window.from, window.to, amount);
  totals_[resource].reserve(window.from, window.to, amount);
}

void UseCalendar::release(std::size_t site, std::size_t resource, TimeWindow window, int amount) {
  ledgers_[site][resource].release(window.from, window.to, amount);
  totals_[resource].release(window.from, window.to, amount);
}

void UseCalendar::set_capacity(std::size_t site, std::size_t resource, Instant from, int amount) {
  const int added = amount - capacity_[site][resource];
  capacity_[site][resource] = amount;
  total_capacity_[resource] += added;
  ledgers_[site][resource].change_capacity(from, added);
  totals_[resource].change_capacity(from, added);
}

bool UseCalendar::is_overcommitted(std::size_t site, std::size_t resource,
                                   TimeWindow window) const {
  return ledgers_[site][resource].min_free(window.from, window.to) < 0;
}

void UseCalendar::forget_before(Instant moment) {
  for (std::vector<Ledger>& site : ledgers_) {
    for (Ledger& ledger : site) {
      ledger.forget_before(moment);
    }
  }
  for (Ledger& ledger : totals_) {
    ledger.forget_before(moment);
  }
}

}  // namespace rubato::policy::planning
