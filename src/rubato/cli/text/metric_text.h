// Metrics of a job, for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "rubato/wire/history.pb.h"

namespace rubato {

/// One letter per column, from the lowest bar to the highest, each the mean of the values that fall
/// into it; a blank where there is none. Empty without values.
[[nodiscard]] std::string text_sparkline(std::span<const double> values, std::size_t width);

/// A row for each metric: the last value and its step, the lowest, the highest, and how it went.
[[nodiscard]] std::string metrics_text(const wire::JobMetricsReply& reply);

}  // namespace rubato
