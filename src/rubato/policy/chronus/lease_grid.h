// The grid of time that leases lie on: leases of equal length, each of a whole number of ticks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rubato/base/time.h"

namespace rubato::policy::chronus {

/// Both counted from time zero.
class LeaseGrid {
 public:
  /// Neither is shorter than a slot; the tick is shortened or stretched to divide the lease.
  LeaseGrid(Duration lease, Duration tick, Duration slot) : lease_(std::max(lease, slot)) {
    const std::int64_t ticks = lease_ / std::max({tick, slot, Duration{1}});
    ticks_ = std::max<std::int64_t>(1, ticks);
    lease_ = (lease_ / ticks_) * ticks_;
  }

  [[nodiscard]] Duration lease() const { return lease_; }
  [[nodiscard]] Duration tick() const { return lease_ / ticks_; }

  /// The lease in which a moment lies.
  [[nodiscard]] std::int64_t at(Instant moment) const { return moment.time_since_epoch() / lease_; }
  /// The first lease that begins at or after a moment.
  [[nodiscard]] std::int64_t from(Instant moment) const {
    return (moment.time_since_epoch() + lease_ - Duration{1}) / lease_;
  }
  [[nodiscard]] Instant start(std::int64_t lease) const { return Instant{lease * lease_}; }
  /// The first tick at or after a moment.
  [[nodiscard]] Instant tick_from(Instant moment) const {
    const std::int64_t ticks = (moment.time_since_epoch() + tick() - Duration{1}) / tick();
    return Instant{ticks * tick()};
  }

 private:
  Duration lease_;
  std::int64_t ticks_ = 1;
};

}  // namespace rubato::policy::chronus
