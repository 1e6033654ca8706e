// A job that trains in pretended time, by speeds in proportion to the workers' 0.9th power.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// Between the end of a step and the moment it is told of.
constexpr Duration kToldAfter = std::chrono::milliseconds(250);

struct PretendedJob {
  std::uint64_t order = 0;
  double steps = 0;
  double done = 0;
  std::deque<double> lately{};  // What was done at the last few moments, the oldest first.
  double kept = 0;              // In the newest snapshot.
  bool measures = false;
  Instant busy_until{};
  Instant reported{};
  std::set<std::pair<std::string, int>> slots{};
  bool is_over = false;
};

/// Remembers what is done now and was at the moments before, so many in all.
inline void note_steps(PretendedJob& job, std::int64_t moments) {
  job.lately.push_back(job.done);
  while (static_cast<std::int64_t>(job.lately.size()) > moments) {
    job.lately.pop_front();
  }
}

/// What can be told of a job that trains: whole steps, and late. None before the first.
inline double told_steps(const PretendedJob& job) {
  const double then = job.lately.empty() ? 0 : job.lately.front();
  return then < job.steps ? std::floor(then) : job.steps;
}

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
