#include "rubato/live/service/clock.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

// CLOCK_BOOTTIME rather than the steady clock, which stands still while a laptop sleeps: a deadline
// at six would become one of the next morning.
Duration since_boot() {
  timespec time{};
  RUBATO_CHECK(::clock_gettime(CLOCK_BOOTTIME, &time) == 0);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                              std::chrono::nanoseconds(time.tv_nsec));
}

// One word, which the kernel makes anew at each start.
std::string boot_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  file >> name;
  return name;
}

Instant system_now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Instant{std::chrono::duration_cast<Duration>(since_epoch)};
}

}  // namespace

TimeSources real_time_sources() {
  return {.system = system_now, .elapsed = since_boot, .boot = boot_name};
}

ServiceClock::ServiceClock(Instant last_journalled, TimeSources sources,
                           const std::optional<ClockAnchor>& anchor)
    : sources_(std::move(sources)), elapsed_at_base_(sources_.elapsed()) {
  const bool goes_on =
      anchor && anchor->boot == sources_.boot() && anchor->elapsed <= elapsed_at_base_;
  const Instant moment =
      goes_on ? anchor->at + (elapsed_at_base_ - anchor->elapsed) : sources_.system();
  base_ = std::max(moment, last_journalled);
}

Instant ServiceClock::now() const {
  return base_ + std::max(sources_.elapsed() - elapsed_at_base_, Duration::zero());
}

Duration ServiceClock::system_ahead() const {
  constexpr Duration kNoise = std::chrono::seconds(1);
  const Duration ahead = sources_.system() - now();
  return ahead < kNoise && ahead > -kNoise ? Duration{} : ahead;
}

ClockAnchor ServiceClock::anchor() const {
  return {.boot = sources_.boot(), .elapsed = elapsed_at_base_, .at = base_};
}

std::optional<ClockAnchor> read_anchor(const std::string& path) {
  std::ifstream file(path);
  ClockAnchor anchor;
  std::int64_t elapsed = 0;
  std::int64_t at = 0;
  if (!(file >> anchor.boot >> elapsed >> at)) {
    return std::nullopt;
  }
  anchor.elapsed = Duration{elapsed};
  anchor.at = Instant{Duration{at}};
  return anchor;
}

Status write_anchor(const std::string& path, const ClockAnchor& anchor) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << anchor.boot << ' ' << anchor.elapsed.count() << ' '
       << anchor.at.time_since_epoch().count() << '\n';
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    return Error{.code = ErrorCode::Io, .message = fmt::format("cannot write {}", path)};
  }
  return ok_status();
}

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

}  // namespace rubato
