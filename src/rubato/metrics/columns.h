// The numbers of a Summary by name: one list that JSON, tables and confidence intervals share.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "rubato/metrics/summary.h"

namespace rubato {

enum class Unit { Count, Ratio, Seconds, Times };

enum class Better { Neither, Higher, Lower };

/// One field of Summary.
struct SummaryColumn {
  std::string_view name{};  // As in the JSON of `sim`.
  std::variant<long Summary::*, double Summary::*> field{};
  Unit unit = Unit::Count;
  Better better = Better::Neither;
  bool is_fixed = false;  // Promised to scripts; DESIGN.md lists them. The others may change.
};

/// All fields, the fixed ones first and in the order of the JSON.
[[nodiscard]] std::span<const SummaryColumn> summary_columns();

/// The value as a number, whatever the type of the field.
[[nodiscard]] double value_of(const Summary& summary, const SummaryColumn& column);

}  // namespace rubato
