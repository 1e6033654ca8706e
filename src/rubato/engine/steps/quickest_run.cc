#include <algorithm>

#include "rubato/engine/state/state.h"

namespace rubato {

Duration quickest_run(const EngineState& state, SpeedId speed, double work) {
  Duration best = kLongest;
  for (const Pool& pool : state.topology.pools()) {
    const ScalingCurve& curve = state.speeds.curve(speed, pool.id);
    if (!curve.empty()) {
      best = std::min(best, from_seconds_up(work / curve.peak().speed));
    }
  }
  return best;
}

}  // namespace rubato
