// How fast an emulated job pretends to be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// Steps per second by number of workers.
using EmulatedSpeeds = std::map<int, double>;

/// From texts such as `4:12.5`: four workers do 12.5 steps per second.
[[nodiscard]] Result<EmulatedSpeeds> parse_speeds(const std::vector<std::string>& texts);

/// Between two known numbers on the line that joins them, below the first in proportion, beyond the
/// last as the last. Without any: one step per second and worker.
[[nodiscard]] double speed_at(const EmulatedSpeeds& speeds, int workers);

}  // namespace rubato
