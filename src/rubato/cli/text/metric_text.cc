#include "rubato/cli/text/metric_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "rubato/cli/text/text_table.h"

namespace rubato {
namespace {

constexpr std::size_t kSparklineWidth = 40;
constexpr std::array<std::string_view, 8> kSparkBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// Of values that are numbers.
struct ValueSpan {
  double low = 0;
  double high = 0;
  bool is_any = false;
};

ValueSpan span_of(std::span<const double> values) {
  ValueSpan span;
  for (const double value : values) {
    if (std::isfinite(value)) {
      span = {.low = span.is_any ? std::min(span.low, value) : value,
              .high = span.is_any ? std::max(span.high, value) : value,
              .is_any = true};
    }
  }
  return span;
}

std::string value_text(double value) { return fmt::format("{:.5g}", value); }

}  // namespace

std::string text_sparkline(std::span<const double> values, std::size_t width) {
  const ValueSpan span = span_of(values);
  if (!span.is_any) {
    return {};
  }
  const std::size_t columns = std::min(width, values.size());
  std::string text;
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = column * values.size() / columns;
         i < (column + 1) * values.size() / columns; ++i) {
      sum += std::isfinite(values[i]) ? values[i] : 0;
      count += std::isfinite(values[i]) ? 1 : 0;
    }
    // Of equal values the middle, since none is low or high.
    const double part = count == 0 || span.high <= span.low
                            ? 0.5
                            : (sum / count - span.low) / (span.high - span.low);
    const auto bar = static_cast<std::size_t>(
        std::clamp(part * kSparkBars.size(), 0.0, kSparkBars.size() - 1.0));
    text += count == 0 ? " " : kSparkBars[bar];
  }
  return text;
}

std::string metrics_text(const wire::JobMetricsReply& reply) {
  if (reply.names().empty()) {
    return "no metrics so far\n";
  }
  TextTable table({"METRIC", ">LAST", ">STEP", ">LOWEST", ">HIGHEST", "COURSE"});
  for (const wire::MetricLine& line : reply.lines()) {
    const std::vector<double> values(line.values().begin(), line.values().end());
    if (values.empty() || line.steps_size() != line.values_size()) {
      continue;
    }
    const ValueSpan span = span_of(values);
    table.add({line.name(), value_text(values.back()),
               fmt::format("{:.0f}", line.steps(line.steps_size() - 1)),
               span.is_any ? value_text(span.low) : "", span.is_any ? value_text(span.high) : "",
               text_sparkline(values, kSparklineWidth)});
  }
  return table.text();
}

}  // namespace rubato
