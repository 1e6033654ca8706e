#include "rubato/live/controller/agent_report_limits.h"

#include <algorithm>
#include <cmath>

namespace rubato {
namespace {

constexpr double kStepsMax = 1e15;
constexpr double kSpeedMax = 1e12;  // Steps per second.
constexpr int kWorkersMax = 1 << 20;
constexpr std::uint32_t kRestartsMax = 1'000'000;
constexpr int kPointsMax = 1'000;

bool is_speed(double said) { return std::isfinite(said) && said > 0 && said <= kSpeedMax; }

bool are_measurements(const google::protobuf::RepeatedPtrField<wire::SpeedPoint>& points) {
  int workers = 0;
  for (const wire::SpeedPoint& point : points) {
    if (point.workers() <= workers || point.workers() > kWorkersMax ||
        !is_speed(point.steps_per_second())) {
      return false;
    }
    workers = point.workers();
  }
  return points.size() <= kPointsMax;
}

}  // namespace

double sanitized_steps(double said) {
  return std::isfinite(said) ? std::clamp(said, 0.0, kStepsMax) : 0;
}

wire::JobReport sanitized(wire::JobReport report) {
  report.set_done(sanitized_steps(report.done()));
  report.set_speed(is_speed(report.speed()) ? report.speed() : 0);
  report.set_workers(std::clamp(report.workers(), 0, kWorkersMax));
  report.set_restarts(std::min(report.restarts(), kRestartsMax));
  if (!are_measurements(report.measured())) {
    report.clear_measured();
    report.set_is_measured(false);
  }
  return report;
}

wire::JobEnded sanitized(wire::JobEnded ended) {
  ended.set_done(sanitized_steps(ended.done()));
  return ended;
}

}  // namespace rubato
