// A job that trains in pretended time, by speeds in proportion to the workers' 0.9th power.
#pragma once

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

struct PretendedJob {
  std::uint64_t order = 0;
  double steps = 0;
  double done = 0;
  double kept = 0;  // In the newest snapshot.
  bool measures = false;
  Instant busy_until{};
  Instant reported{};
  std::set<std::pair<std::string, int>> slots{};
  bool is_over = false;
};

/// Steps per second.
inline double true_speed(int workers) { return 10 * std::pow(workers, 0.9); }

inline std::vector<wire::SpeedPoint> true_speeds() {
  std::vector<wire::SpeedPoint> points;
  for (int workers = 1; workers <= 16; workers *= 2) {
    wire::SpeedPoint& point = points.emplace_back();
    point.set_workers(workers);
    point.set_steps_per_second(true_speed(workers));
  }
  return points;
}

}  // namespace rubato
