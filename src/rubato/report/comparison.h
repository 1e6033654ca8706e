// The comparison of policies as a grid of finished cells, drawn by table.cc and web/src/report.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/report/comparison_columns.h"
#include "rubato/report/report.h"

namespace rubato {

struct ComparisonCell {
  bool is_known = true;       // False: this policy has no such number, and `text` is "-".
  bool is_comparable = true;  // False: of a policy that finished far fewer jobs than others.
  double value = 0;           // As measured: for sorting.
  std::string text{};         // In the unit of the column.
  double half_width = 0;      // Of the confidence interval, as measured.
  std::string plus_minus{};   // The same in the unit of the column; empty for one seed.
  bool is_best = false;       // Of its column and group; several may be equally good.
};

struct ComparisonRow {
  std::string policy{};
  std::string failure{};                // Why there are no cells; empty if there are.
  std::vector<ComparisonCell> cells{};  // One for each column.
};

/// Rows that may be compared with each other.
struct ComparisonGroup {
  std::string title{};  // Empty if there is only one.
  std::string trace{};
  double noise = 0;
  bool is_over_traces = false;
  std::vector<ComparisonRow> rows{};
};

struct Comparison {
  std::vector<ComparisonColumn> columns{};
  std::vector<ComparisonGroup> groups{};
  std::size_t seeds = 1;
  bool has_places = false;
};

enum class Detail {
  Terminal,  // What fits into about 120 characters.
  Tournament,
  Full,
};

/// One group, rows in the order of the runs. Columns about deadlines, promises or best-effort jobs
/// are left out when there are none. Nothing is best in a column where all policies show the same
/// number.
[[nodiscard]] Comparison compare(std::span<const RunReport> runs, Detail detail);

/// One group for each trace and noise; over several traces one more for each noise (standings.h).
/// The first column is the policy's place, by which rows stand in order.
[[nodiscard]] Comparison tournament(std::span<const RunGroup> groups, Detail detail);

}  // namespace rubato
