// The best window of a job that runs without a break on a constant crew: when, how many, where.
//
// Shared by A_online, DPS (A_bestsche) and Astraea. All starts, all crews, and the
// placement the policy's rule gives; a bound on what a crew could still be worth skips most of
// them. Ties: earlier finish, then fewer workers, then earlier start.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "rubato/policy/planning/site_fill.h"
#include "rubato/policy/planning/use_calendar.h"

namespace rubato::policy::planning {

/// A number of workers, in one place or not, and how long the job takes with them.
struct CrewChoice {
  Crew crew{};
  bool together = false;
  Duration run_time{};
};

struct WindowSearch {
  std::vector<CrewChoice> crews{};
  std::vector<Instant> starts{};  // Rising.
  Instant last_finish = kNever;
  std::function<double(Instant finish)> value{};  // Never rises.
  /// Where the crew goes in this window, and for how much; nothing if it does not fit.
  std::function<std::optional<SiteAssignment>(const CrewChoice& choice, TimeWindow window)> place{};
};

struct Booking {
  TimeWindow window{};
  CrewChoice choice{};
  SiteAssignment posting{};
  double value = 0;

  [[nodiscard]] double payoff() const { return value - posting.cost; }
};

/// The highest payoff, be it negative; nothing if nothing fits.
[[nodiscard]] std::optional<Booking> best_window(const WindowSearch& search);

}  // namespace rubato::policy::planning
