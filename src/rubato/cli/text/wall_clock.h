// The time and zone that texts for this user are made with.
#pragma once

#include "rubato/spec/deadline_text.h"

namespace rubato {

/// Now, in the zone of this process (TZ).
[[nodiscard]] WallClock local_wall_clock();

}  // namespace rubato
