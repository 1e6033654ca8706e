// The comparison of policies as a grid of finished cells, drawn by table.cc and html_table.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/metrics/columns.h"
#include "rubato/report/report.h"

namespace rubato {

struct ComparisonColumn {
  std::string_view group{};  // What neighbours have in common, such as "JCT".
  std::string_view title{};
  std::string_view unit{};     // Of every number in the column; may be empty.
  std::string_view meaning{};  // One sentence for people.
  Better better = Better::Neither;
};

struct ComparisonCell {
  bool is_known = true;      // False: this policy has no such number, and `text` is "-".
  double value = 0;          // As measured: for sorting.
  std::string text{};        // In the unit of the column.
  std::string plus_minus{};  // Half width of the confidence interval; empty for one seed.
  bool is_best = false;      // Of its column; several may be equally good.
};

struct ComparisonRow {
  std::string policy{};
  std::vector<ComparisonCell> cells{};  // One for each column.
};

struct Comparison {
  std::vector<ComparisonColumn> columns{};
  std::vector<ComparisonRow> rows{};  // In the order of the runs.
  std::size_t seeds = 1;
};

enum class Detail {
  Terminal,  // What fits into about 120 characters.
  Full,
};

/// Columns about deadlines, promises or best-effort jobs are left out when there are none. Nothing
/// is best in a column where all policies show the same number.
[[nodiscard]] Comparison compare(std::span<const RunReport> runs, Detail detail);

}  // namespace rubato
