#include "rubato/live/service/metrics_text.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/base/parse.h"
#include "rubato/base/utf8.h"

namespace rubato {
namespace {

bool is_metric_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view kAll =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && kLetters.find(name[0]) != std::string_view::npos &&
         name.find_first_not_of(kAll) == std::string_view::npos;
}

std::string number_text(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  return shortest(value);
}

// The format knows these escapes and no others; quotes only in labels.
std::string escaped_metric_text(std::string_view text, bool is_label) {
  std::string escaped;
  for (const char character : repaired_utf8(text)) {
    if (character == '\\') {
      escaped += "\\\\";
    } else if (character == '\n') {
      escaped += "\\n";
    } else if (character == '"' && is_label) {
      escaped += "\\\"";
    } else {
      escaped += character;
    }
  }
  return escaped;
}

// `{state="RUNNING",class="slo"}`, or nothing without labels; `bound` is a histogram's own label.
std::string label_text(const MetricLabels& labels, std::string_view bound = {}) {
  std::string text;
  const auto put = [&text](std::string_view name, std::string_view value) {
    RUBATO_CHECK(is_metric_name(name));
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", name,
                        escaped_metric_text(value, /*is_label=*/true));
  };
  for (const auto& [name, value] : labels) {
    put(name, value);
  }
  if (!bound.empty()) {
    put("le", bound);
  }
  return text.empty() ? text : text + "}";
}

}  // namespace

HistogramCounts::HistogramCounts(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  RUBATO_CHECK(std::ranges::adjacent_find(bounds_, std::greater_equal<>()) == bounds_.end());
}

void HistogramCounts::observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  sum_ += value;
}

void MetricsText::begin_counter(std::string_view name, std::string_view help) {
  RUBATO_CHECK(name.ends_with("_total"));
  kind_ = Kind::Single;
  begin(name, help, "counter");
}

void MetricsText::begin_gauge(std::string_view name, std::string_view help) {
  kind_ = Kind::Single;
  begin(name, help, "gauge");
}

void MetricsText::begin_histogram(std::string_view name, std::string_view help) {
  kind_ = Kind::Histogram;
  begin(name, help, "histogram");
}

void MetricsText::begin(std::string_view name, std::string_view help, std::string_view type) {
  RUBATO_CHECK(is_metric_name(name));
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name,
                       escaped_metric_text(help, /*is_label=*/false), name, type);
}

void MetricsText::add(const MetricLabels& labels, double value) {
  RUBATO_CHECK(kind_ == Kind::Single);
  text_ += fmt::format("{}{} {}\n", name_, label_text(labels), number_text(value));
}

void MetricsText::add(const MetricLabels& labels, const HistogramCounts& counts) {
  RUBATO_CHECK(kind_ == Kind::Histogram);
  std::uint64_t up_to = 0;
  for (std::size_t i = 0; i < counts.counts().size(); ++i) {
    up_to += counts.counts()[i];
    const std::string bound = i < counts.bounds().size() ? number_text(counts.bounds()[i]) : "+Inf";
    text_ += fmt::format("{}_bucket{} {}\n", name_, label_text(labels, bound), up_to);
  }
  text_ += fmt::format("{}_sum{} {}\n", name_, label_text(labels), number_text(counts.sum()));
  text_ += fmt::format("{}_count{} {}\n", name_, label_text(labels), up_to);
}

}  // namespace rubato
