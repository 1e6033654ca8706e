#include "rubato/job/speed_window.h"

#include <algorithm>

namespace rubato {
namespace {

// Of a window that is full, the old half counts half. Long steps make a window longer.
constexpr double kWindowSeconds = 10;
constexpr double kWindowSteps = 10;
constexpr double kStepsTrusted = 2;  // One may be an accident.

}  // namespace

void SpeedWindow::add(int workers, double steps, double seconds) {
  if (!(steps > 0) || !(seconds > 0)) {
    return;
  }
  if (workers != workers_) {
    *this = {};
    workers_ = workers;
  }
  steps_ += steps;
  seconds_ += seconds;
  if (seconds_ > kWindowSeconds && steps_ > kWindowSteps) {
    const double kept = std::max(kWindowSeconds / seconds_, kWindowSteps / steps_);
    steps_ *= kept;
    seconds_ *= kept;
  }
}

double SpeedWindow::speed(int workers) const {
  return workers == workers_ && steps_ >= kStepsTrusted ? steps_ / seconds_ : 0;
}

}  // namespace rubato
