// Microseconds as decimal seconds, exactly.
#pragma once

#include <string>

#include "rubato/base/time.h"

namespace rubato {

/// 90 s is `90`, 1.5 s is `1.5`: as many of the six decimals as are needed, never rounded.
[[nodiscard]] std::string seconds_text(Duration span);

}  // namespace rubato
