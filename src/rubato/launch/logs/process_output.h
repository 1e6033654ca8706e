// What a program says, for programs that are asked one thing and end.
#pragma once

#include <string>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/launch/process/process.h"

namespace rubato {

/// All that a process says within the time; an error if it does not end by then, or fails.
[[nodiscard]] Result<std::string> output_of(const ProcessSpec& spec, Duration patience);

}  // namespace rubato
