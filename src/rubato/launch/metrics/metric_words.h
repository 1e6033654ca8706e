// Which words of a printed line are names of metrics, and which are known not to be.
#pragma once

#include <string_view>

namespace rubato::launch::metrics {

/// What a name says about the number behind it.
enum class NameKind {
  Metric,   // Ends with a word such as loss or accuracy: any number is one.
  Unknown,  // A number counts if it is no whole one.
  Counter,  // Epochs, sizes, times, settings: never a metric.
};

[[nodiscard]] NameKind name_kind(std::string_view name);

/// Train, val, mean and so on: part of the name that follows.
[[nodiscard]] bool is_qualifier(std::string_view word);

/// Of a metric that is a part of a whole: `accuracy: 9902/10000` is 0.9902.
[[nodiscard]] bool is_ratio(std::string_view name);

}  // namespace rubato::launch::metrics
