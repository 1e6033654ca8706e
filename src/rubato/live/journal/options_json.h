// The controller's options as JSON, as the journal keeps them.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/live/controller/controller_options.h"

namespace rubato {

[[nodiscard]] std::string options_to_json(const ControllerOptions& options);
/// Every field must be there: the journal was written by a program that knew them all.
[[nodiscard]] Result<ControllerOptions> options_from_json(std::string_view text);

}  // namespace rubato
