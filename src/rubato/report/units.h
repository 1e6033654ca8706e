// Numbers for people: one unit for a whole column, so that its cells can be compared at a glance.
#pragma once

#include <string>
#include <string_view>

namespace rubato {

/// How the numbers of one column are written: multiplied, with this many decimals, in this unit.
struct Scale {
  double factor = 1;
  int decimals = 0;
  std::string_view suffix{};

  /// Without the suffix, which stands in the head of the column.
  [[nodiscard]] std::string text(double value) const;
};

/// The largest of us, ms, s, min, h in which `longest_seconds` is at least 1; days from ten days
/// on.
[[nodiscard]] Scale time_scale(double longest_seconds);
/// Percent with one decimal.
[[nodiscard]] Scale percent_scale();
/// Plain numbers with fewer decimals the larger they are; none if `is_whole`.
[[nodiscard]] Scale plain_scale(double largest, bool is_whole);

/// Such as "3.2 h" or "1 min": with the unit that fits this one number.
[[nodiscard]] std::string human_seconds(double seconds);

}  // namespace rubato
