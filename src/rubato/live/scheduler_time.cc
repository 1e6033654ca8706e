#include "rubato/live/scheduler_time.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

namespace rubato {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int32_t kNanosPerMicro = 1'000;
constexpr std::int32_t kNanosMax = 999'999'999;

// CLOCK_BOOTTIME rather than the steady clock, which stands still while a laptop sleeps: a deadline
// at six would become one of the next morning.
Duration since_boot() {
  timespec time{};
  RUBATO_CHECK(::clock_gettime(CLOCK_BOOTTIME, &time) == 0);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                              std::chrono::nanoseconds(time.tv_nsec));
}

Instant system_now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Instant{std::chrono::duration_cast<Duration>(since_epoch)};
}

}  // namespace

TimeSources real_time_sources() { return {.system = system_now, .elapsed = since_boot}; }

ServiceClock::ServiceClock(Instant last_journalled, TimeSources sources)
    : sources_(std::move(sources)),
      base_(std::max(sources_.system(), last_journalled)),
      elapsed_at_base_(sources_.elapsed()) {}

Instant ServiceClock::now() const {
  return base_ + std::max(sources_.elapsed() - elapsed_at_base_, Duration::zero());
}

Duration ServiceClock::system_ahead() const { return sources_.system() - now(); }

std::chrono::steady_clock::time_point ServiceClock::steady_at(Instant moment) const {
  // Far enough to mean never, near enough for every library to add to it.
  constexpr auto kFar = std::chrono::hours(24 * 365);
  const Instant present = now();
  const auto begin = std::chrono::steady_clock::now();
  if (moment <= present) {
    return begin;
  }
  return moment - present > kFar ? std::chrono::steady_clock::time_point::max()
                                 : begin + (moment - present);
}

std::optional<Timestamp> to_timestamp(Instant moment) {
  const std::int64_t micros = moment.time_since_epoch().count();
  std::int64_t seconds = micros / kMicrosPerSecond;
  std::int64_t rest = micros % kMicrosPerSecond;
  if (rest < 0) {
    rest += kMicrosPerSecond;
    --seconds;
  }
  if (seconds < TimeUtil::kTimestampMinSeconds || seconds > TimeUtil::kTimestampMaxSeconds) {
    return std::nullopt;
  }
  Timestamp timestamp;
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<std::int32_t>(rest) * kNanosPerMicro);
  return timestamp;
}

Result<Instant> from_timestamp(const Timestamp& timestamp) {
  if (timestamp.seconds() < TimeUtil::kTimestampMinSeconds ||
      timestamp.seconds() > TimeUtil::kTimestampMaxSeconds || timestamp.nanos() < 0 ||
      timestamp.nanos() > kNanosMax) {
    return bad_input(fmt::format("a time of {} seconds and {} nanoseconds is out of range",
                                 timestamp.seconds(), timestamp.nanos()));
  }
  return Instant{
      Duration{timestamp.seconds() * kMicrosPerSecond + timestamp.nanos() / kNanosPerMicro}};
}

}  // namespace rubato
