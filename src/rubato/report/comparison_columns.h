// The columns of a comparison: where each number comes from and which way is better.
#pragma once

#include <span>
#include <string_view>

#include "rubato/metrics/columns.h"
#include "rubato/metrics/confidence.h"
#include "rubato/report/report.h"

namespace rubato {

struct ComparisonColumn {
  std::string_view group{};  // What neighbours have in common, such as "JCT".
  std::string_view title{};
  std::string_view unit{};     // Of every number in the column; may be empty.
  std::string_view meaning{};  // One sentence for people.
  Better better = Better::Neither;
};

/// What a column is a number of.
enum class Kind {
  Any,
  Times,   // Of finished jobs: who finishes only the easy ones looks good, so those who finish far
           // fewer jobs than others are not compared.
  Judged,  // Part of a policy's place; see standings.h.
  JudgedTimes,
};

/// Where the column is shown, apart from the full table of an HTML report.
enum class Shown { Nowhere, Terminal, Tournament, Both };

struct ColumnSource {
  std::string_view name{};  // In JSON.
  ComparisonColumn column{};
  Unit unit = Unit::Count;
  double (*read)(const RunReport& run, const Summary& summary) = nullptr;
  Shown shown = Shown::Both;
  Kind kind = Kind::Any;
  bool (*is_needed)(const Summary& summary) = nullptr;  // Null: always.

  [[nodiscard]] bool is_judged() const { return kind == Kind::Judged || kind == Kind::JudgedTimes; }
  [[nodiscard]] bool is_of_finished() const {
    return kind == Kind::Times || kind == Kind::JudgedTimes;
  }
};

/// In the order in which they are shown.
[[nodiscard]] std::span<const ColumnSource> column_sources();

/// One number of one run.
struct Measure {
  bool is_known = false;
  bool is_comparable = true;  // False: of a run that finished far fewer jobs than others.
  bool has_width = false;     // Over several seeds or traces.
  Interval value{};
};

[[nodiscard]] Measure measure(const ColumnSource& source, const RunReport& run);

}  // namespace rubato
