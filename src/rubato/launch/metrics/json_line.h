// Metrics of programs that print one JSON object per line.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rubato/launch/metrics/printed_metrics.h"

namespace rubato::launch::metrics {

/// Numbers among the members of the object, and of objects within it (`{"val": {"loss": 1.5}}` has
/// `val/loss`), by the rules for names of printed_metrics.h. Nothing if the text is no JSON object.
[[nodiscard]] std::optional<std::vector<PrintedNumber>> json_line_metrics(std::string_view text);

}  // namespace rubato::launch::metrics
