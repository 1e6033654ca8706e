// Lengths of time as users write them: `90s`, `15m`, `6h`, `2d`, `1h30m`.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// Longer than zero and at most ten years; a unit is required, fractions (`1.5h`) are allowed.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

/// The shortest text that parse_duration() reads back, in whole seconds: `1h30m`.
[[nodiscard]] std::string duration_text(Duration span);

}  // namespace rubato
