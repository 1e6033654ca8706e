#include "rubato/core/progress.h"

#include <algorithm>

namespace rubato {

double Progress::at(Instant moment) const {
  const Instant from = std::max(since, paused_until);
  return moment <= from ? done : done + speed * to_seconds(moment - from);
}

Instant Progress::finish(double work) const {
  if (work <= done) {
    return since;
  }
  if (speed <= 0) {
    return kNever;
  }
  return later(std::max(since, paused_until), from_seconds_up((work - done) / speed));
}

void Progress::advance(Instant moment) {
  done = at(moment);
  since = moment;
}

void Progress::change(Instant moment, double new_speed, Duration pause) {
  advance(moment);
  speed = new_speed;
  paused_until = std::max(paused_until, moment) + pause;
}

}  // namespace rubato
