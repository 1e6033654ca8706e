// A number that a training program tells of itself, such as its loss: a name, a value, and the step
// it belongs to. The limits here hold on every way that a metric takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rubato::launch::metrics {

inline constexpr std::size_t kNameBytesMax = 128;
inline constexpr std::size_t kNamesMax = 256;    // Distinct ones of a job; later ones are dropped.
inline constexpr std::size_t kPointsMax = 1000;  // Kept of each name; see MetricSeries.

struct Metric {
  std::string name{};
  double value = 0;  // Finite or NaN.
  std::int64_t step = 0;

  bool operator==(const Metric&) const = default;
};

/// The name as it is kept: white space and commas become `_`, control characters and what is no
/// UTF-8 are left out, and what is too long is cut. Empty if nothing is left.
[[nodiscard]] std::string clean_name(std::string_view name);

/// True if both mean the same metric: letters of ASCII count the same in either case.
[[nodiscard]] bool is_same_name(std::string_view one, std::string_view other);

/// The value as it is kept: infinities become NaN, which charts leave out.
[[nodiscard]] double clean_value(double value);

}  // namespace rubato::launch::metrics
