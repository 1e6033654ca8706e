// Time as the scheduler knows it: int64 microseconds that are passed in, never read.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace rubato {

using Duration = std::chrono::duration<std::int64_t, std::micro>;

/// A clock without now(): whoever drives the scheduler says what time it is.
struct SchedulerClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SchedulerClock>;
  static constexpr bool is_steady = true;
};

using Instant = SchedulerClock::time_point;

/// Later than every moment that can happen: "no deadline", "not planned".
inline constexpr Instant kNever = Instant::max();

/// The longest span we compute with (about 3,000 years); keeps sums clear of overflow.
inline constexpr Duration kLongest{100'000'000'000'000'000};

[[nodiscard]] constexpr double to_seconds(Duration span) {
  return static_cast<double>(span.count()) / 1e6;
}

[[nodiscard]] constexpr double to_seconds(Instant moment) {
  return to_seconds(moment.time_since_epoch());
}

/// A whole number of microseconds; anything beyond kLongest, and what is no number, is kLongest.
[[nodiscard]] inline Duration whole_micros(double micros) {
  constexpr auto kMicrosMax = static_cast<double>(kLongest.count());
  if (!(micros < kMicrosMax)) {
    return kLongest;
  }
  return micros < -kMicrosMax ? -kLongest : Duration{static_cast<std::int64_t>(micros)};
}

/// Rounded to the nearest microsecond; anything beyond kLongest becomes kLongest.
[[nodiscard]] inline Duration from_seconds(double seconds) {
  return whole_micros(std::round(seconds * 1e6));
}

/// Like from_seconds, but never shorter than asked: for what must not be promised too early.
[[nodiscard]] inline Duration from_seconds_up(double seconds) {
  return whole_micros(std::ceil(seconds * 1e6));
}

[[nodiscard]] inline Instant at_seconds(double seconds) { return Instant{from_seconds(seconds)}; }

/// moment + span without overflow: never stays never.
[[nodiscard]] constexpr Instant later(Instant moment, Duration span) {
  return moment.time_since_epoch() > kLongest || span >= kLongest ? kNever : moment + span;
}

}  // namespace rubato
