// Real time for the scheduler: moments that only go forward, whatever is done to the system's
// clock.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// Where time comes from; tests bring their own.
struct TimeSources {
  std::function<Instant()> system;    // Since the Unix epoch; may jump.
  std::function<Duration()> elapsed;  // Since some moment; goes on while the machine sleeps.
  std::function<std::string()> boot;  // For how long `elapsed` counts: another one after a reboot.
};
[[nodiscard]] TimeSources real_time_sources();

/// Where our clock stood at some moment of a boot.
struct ClockAnchor {
  std::string boot{};
  Duration elapsed{};
  Instant at{};

  friend bool operator==(const ClockAnchor&, const ClockAnchor&) = default;
};

/// The service's clock. It is read from the system's once and goes on by itself: if the system's
/// clock is set meanwhile, the two differ. If the system's clock is behind the journal, because it
/// was set back while we were down, ours goes on where the journal ends.
class ServiceClock {
 public:
  /// `last_journalled`: no moment before it is ever told. With an anchor of this boot it goes on
  /// from there as if it had never stopped, whatever was done to the system's.
  explicit ServiceClock(Instant last_journalled, TimeSources sources = real_time_sources(),
                        const std::optional<ClockAnchor>& anchor = std::nullopt);

  [[nodiscard]] Instant now() const;
  /// How far the system's clock was set ahead of ours (negative: behind); zero if they differ by
  /// less than a second, as clocks do.
  [[nodiscard]] Duration system_ahead() const;
  [[nodiscard]] ClockAnchor anchor() const;
  /// When to wake for a moment of ours; the latest possible for kNever and what is years away.
  [[nodiscard]] std::chrono::steady_clock::time_point steady_at(Instant moment) const;

 private:
  TimeSources sources_;
  Instant base_{};
  Duration elapsed_at_base_;
};

/// The anchor kept in a file; nothing if there is none that can be read.
[[nodiscard]] std::optional<ClockAnchor> read_anchor(const std::string& path);
/// Replaces the file as a whole. Without it a restart takes the system's clock, so that a failure
/// is no reason to stop.
[[nodiscard]] Status write_anchor(const std::string& path, const ClockAnchor& anchor);

}  // namespace rubato
