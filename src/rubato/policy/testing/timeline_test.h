// Test support: windows and plans in seconds.
#pragma once

#include <chrono>
#include <tuple>
#include <vector>

#include "rubato/core/plan.h"
#include "rubato/policy/planning/use_calendar.h"

namespace rubato::policy {

inline constexpr Duration kSecond = std::chrono::seconds(1);

[[nodiscard]] inline planning::TimeWindow between(double from, double to) {
  return {at_seconds(from), at_seconds(to)};
}

/// `segments` as (from, to, workers).
[[nodiscard]] inline Plan plan_of(const std::vector<std::tuple<double, double, int>>& segments,
                                  PoolId pool = {}) {
  Plan plan{.pool = pool};
  for (const auto& [from, to, workers] : segments) {
    plan.segments.push_back({.from = at_seconds(from), .to = at_seconds(to), .workers = workers});
  }
  return plan;
}

}  // namespace rubato::policy
