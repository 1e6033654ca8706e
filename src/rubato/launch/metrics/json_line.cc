#include "rubato/launch/metrics/json_line.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "rubato/launch/metrics/metric.h"
#include "rubato/launch/metrics/metric_words.h"

namespace rubato::launch::metrics {
namespace {

constexpr int kObjectDepthMax = 3;

void collect(const nlohmann::ordered_json& object, const std::string& prefix, int depth,
             std::vector<PrintedNumber>& found) {
  for (const auto& [key, value] : object.items()) {
    if (found.size() == kPrintedPairsMax) {
      return;
    }
    const std::string name = clean_name(prefix.empty() ? key : prefix + "/" + key);
    if (value.is_object() && depth < kObjectDepthMax) {
      collect(value, name, depth + 1, found);
      continue;
    }
    const NameKind kind = name_kind(name);
    const bool counts =
        kind == NameKind::Metric || (kind == NameKind::Unknown && value.is_number_float());
    if (value.is_number() && counts && !name.empty() &&
        std::ranges::find(found, name, &PrintedNumber::name) == found.end()) {
      found.push_back({.name = name, .value = clean_value(value.get<double>())});
    }
  }
}

}  // namespace

std::optional<std::vector<PrintedNumber>> json_line_metrics(std::string_view text) {
  if (!text.starts_with('{') || !text.ends_with('}')) {
    return std::nullopt;
  }
  const auto object = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return std::nullopt;
  }
  std::vector<PrintedNumber> found;
  collect(object, "", 1, found);
  return found;
}

}  // namespace rubato::launch::metrics
