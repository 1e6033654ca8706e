#include "rubato/runtime/adapt/scaling_measurement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rubato/base/check.h"

namespace rubato {

std::vector<int> shrinking_counts(int most, int gpus_per_node) {
  RUBATO_CHECK(most >= 1 && gpus_per_node >= 1);
  std::vector<int> counts;
  for (int count = most; count >= 1; --count) {
    const bool fills_nodes = count % gpus_per_node == 0;
    const bool fits_in_node = gpus_per_node % count == 0;
    if (fills_nodes || fits_in_node) {
      counts.push_back(count);
    }
  }
  return counts;
}

ScalingMeasurement::ScalingMeasurement(ScalingSchedule schedule) : schedule_(std::move(schedule)) {
  RUBATO_CHECK(!schedule_.workers.empty() && schedule_.workers.back() >= 1);
  RUBATO_CHECK(schedule_.steps_per_point >= 1);
  const auto not_falling = [](int before, int after) { return before <= after; };
  RUBATO_CHECK(std::ranges::adjacent_find(schedule_.workers, not_falling) ==
               schedule_.workers.end());
}

int ScalingMeasurement::workers_wanted() const {
  return is_done() ? schedule_.workers.back() : schedule_.workers[next_];
}

bool ScalingMeasurement::move_on() {
  ++next_;
  current_ = {};
  skipped_ = 0;
  return true;
}

bool ScalingMeasurement::on_step(int workers, double seconds) {
  bool moved = false;
  while (!is_done() && workers < workers_wanted()) {
    missed_.push_back(workers_wanted());
    moved = move_on();
  }
  if (is_done() || workers > workers_wanted()) {
    return moved;
  }
  if (skipped_ < schedule_.steps_skipped) {
    ++skipped_;
    return moved;
  }
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    return moved;
  }
  current_.workers = workers;
  ++current_.steps;
  current_.step_seconds += (seconds - current_.step_seconds) / static_cast<double>(current_.steps);
  if (current_.steps < schedule_.steps_per_point) {
    return moved;
  }
  measured_.push_back(current_);
  return move_on();
}

}  // namespace rubato
