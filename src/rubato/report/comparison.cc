#include "rubato/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "rubato/report/standings.h"
#include "rubato/report/units.h"

namespace rubato {
namespace {

constexpr ComparisonColumn kPlace{
    .group = "place",
    .title = "mean",
    .meaning =
        "Mean rank in the judged columns: deadlines met, mean and p99 JCT, makespan, "
        "efficiency, fairness, value.",
    .better = Better::Lower};

// A ratio whose interval is wider than this many times itself says nothing; nor would more digits.
constexpr double kWidthMax = 9;

// Rows before they become text.
struct Group {
  std::string title{};
  std::string trace{};
  double noise = 0;
  bool is_over_traces = false;
  std::vector<TraceStanding> standings{};
};

bool is_shown(const ColumnSource& source, Detail detail) {
  switch (detail) {
    case Detail::Terminal:
      return source.shown == Shown::Terminal || source.shown == Shown::Both;
    case Detail::Tournament:
      return source.shown == Shown::Tournament || source.shown == Shown::Both;
    case Detail::Full:
      break;
  }
  return true;
}

// The numbers of one column in one group; null where a policy failed.
std::vector<const Measure*> numbers_of(const Group& group, std::size_t column) {
  std::vector<const Measure*> numbers;
  for (const TraceStanding& standing : group.standings) {
    const Measure& number =
        column < standing.measures.size() ? standing.measures[column] : standing.place;
    numbers.push_back(standing.failure.empty() ? &number : nullptr);
  }
  return numbers;
}

// The largest and the smallest number of a group above zero, and whether all are whole.
struct Extent {
  double largest = 0;
  double smallest = 0;
  bool is_whole = true;
};

Extent extent_of(std::span<const Measure* const> numbers) {
  Extent extent;
  for (const Measure* number : numbers) {
    if (number != nullptr && number->is_known) {
      const double size = std::abs(number->value.mean);
      extent.largest = std::max(extent.largest, size);
      if (size > 0) {
        extent.smallest = extent.smallest > 0 ? std::min(extent.smallest, size) : size;
      }
      extent.is_whole = extent.is_whole && number->value.mean == std::floor(number->value.mean);
    }
  }
  return extent;
}

// One unit for the whole column: the one that suits the group with the smallest numbers.
Scale common_scale(Unit unit, std::span<const Group> groups, std::size_t column) {
  double smallest = 0;
  for (const Group& group : groups) {
    const double largest = extent_of(numbers_of(group, column)).largest;
    if (!group.is_over_traces && largest > 0) {
      smallest = smallest > 0 ? std::min(smallest, largest) : largest;
    }
  }
  switch (unit) {
    case Unit::Ratio:
      return percent_scale();
    case Unit::Seconds:
      return time_scale(smallest);
    case Unit::Count:
    case Unit::Times:
      break;
  }
  return plain_scale(smallest, /*is_whole=*/false);
}

// The same unit with as many digits as the numbers of one group call for: `size` is typical.
Scale group_scale(Unit unit, const Scale& common, const Extent& extent, double size) {
  if (unit == Unit::Ratio) {
    return common;
  }
  Scale scale = plain_scale(size * common.factor, unit != Unit::Seconds && extent.is_whole);
  scale.factor = common.factor;
  // Nothing took any time: no digits, as in a column of nothing else.
  scale.decimals = extent.largest > 0 || unit != Unit::Seconds ? scale.decimals : common.decimals;
  return scale;
}

// Marks the cells that read the same as the best one, unless all known ones do.
void mark_best(ComparisonGroup& group, std::size_t at, Better better) {
  std::vector<ComparisonCell*> cells;
  for (ComparisonRow& row : group.rows) {
    if (row.failure.empty() && row.cells[at].is_known && row.cells[at].is_comparable) {
      cells.push_back(&row.cells[at]);
    }
  }
  if (better == Better::Neither || cells.empty()) {
    return;
  }
  const auto value = [](const ComparisonCell* cell) { return cell->value; };
  const auto [low, high] = std::ranges::minmax_element(cells, {}, value);
  const std::string best = (*(better == Better::Higher ? high : low))->text;
  const auto reads_best = [&](const ComparisonCell* cell) { return cell->text == best; };
  if (!std::ranges::all_of(cells, reads_best)) {
    for (ComparisonCell* cell : cells) {
      cell->is_best = reads_best(cell);
    }
  }
}

ComparisonCell make_cell(const Measure& number, const Scale& scale, bool is_relative) {
  if (!number.is_known) {
    return {.is_known = false, .text = "-"};
  }
  ComparisonCell cell{.is_comparable = number.is_comparable,
                      .value = number.value.mean,
                      .text = scale.text(number.value.mean) + (is_relative ? "x" : "")};
  if (number.has_width) {
    cell.half_width = number.value.half_width;
    const double most = kWidthMax * number.value.mean;
    cell.plus_minus = is_relative && number.value.half_width > most
                          ? ">" + scale.text(most)
                          : scale.text(number.value.half_width);
  }
  return cell;
}

// A column of all groups: `source` is null for the place.
void add_column(Comparison& table, std::span<const Group> groups, const ColumnSource* source) {
  const auto sources = column_sources();
  const std::size_t at =
      source == nullptr ? sources.size() : static_cast<std::size_t>(source - sources.data());
  const Unit unit = source == nullptr ? Unit::Times : source->unit;
  const Scale common = common_scale(unit, groups, at);
  table.columns.push_back(source == nullptr ? kPlace : source->column);
  table.columns.back().unit = source == nullptr ? std::string_view{} : common.suffix;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<const Measure*> numbers = numbers_of(groups[g], at);
    const Extent extent = extent_of(numbers);
    // Many policies differ by orders of magnitude; the small numbers should keep some digits.
    const double size =
        table.has_places ? std::sqrt(extent.largest * extent.smallest) : extent.largest;
    const bool is_ratio = groups[g].is_over_traces && source != nullptr && is_relative(*source);
    const Scale scale =
        is_ratio ? plain_scale(1, /*is_whole=*/false) : group_scale(unit, common, extent, size);
    for (std::size_t row = 0; row < numbers.size(); ++row) {
      if (numbers[row] != nullptr) {
        table.groups[g].rows[row].cells.push_back(make_cell(*numbers[row], scale, is_ratio));
      }
    }
    mark_best(table.groups[g], table.columns.size() - 1, table.columns.back().better);
  }
}

Comparison grid_of(std::span<const Group> groups, Detail detail, bool has_places) {
  Comparison table{.has_places = has_places};
  for (const Group& group : groups) {
    table.groups.push_back({.title = group.title,
                            .trace = group.trace,
                            .noise = group.noise,
                            .is_over_traces = group.is_over_traces});
    for (const TraceStanding& standing : group.standings) {
      table.groups.back().rows.push_back({.policy = standing.policy, .failure = standing.failure});
    }
  }
  if (has_places) {
    add_column(table, groups, nullptr);
  }
  for (const ColumnSource& source : column_sources()) {
    const auto at = static_cast<std::size_t>(&source - column_sources().data());
    const auto knows = [at](const Group& group) {
      const auto numbers = numbers_of(group, at);
      return std::ranges::any_of(
          numbers, [](const Measure* number) { return number != nullptr && number->is_known; });
    };
    if (is_shown(source, detail) && std::ranges::any_of(groups, knows)) {
      add_column(table, groups, &source);
    }
  }
  return table;
}

std::size_t seeds_in(std::span<const RunReport> runs) {
  std::size_t seeds = 1;
  for (const RunReport& run : runs) {
    seeds = std::max(seeds, run.seeds.size());
  }
  return seeds;
}

std::string noise_words(double noise) {
  return noise > 0 ? fmt::format("speeds off by {:g}%", noise * 100) : "exact speeds";
}

// What a group of runs is about, and how many deadlines can be met at all.
std::string title_of(const RunGroup& group, std::string_view trace) {
  std::string title = fmt::format("{}, {}", trace, noise_words(group.noise));
  for (const RunReport& run : group.runs) {
    if (run.failure.empty()) {
      title += fmt::format(": {} jobs", run.summary.jobs);
      if (run.summary.deadline_jobs > 0) {
        title += fmt::format(", {:.1f}% of {} deadlines can be met at all",
                             run.summary.deadline_upper_bound * 100, run.summary.deadline_jobs);
      }
      break;
    }
  }
  return title;
}

// The name of the file, unless another trace has the same in another folder.
std::string short_name(const std::string& trace, std::span<const RunGroup> groups) {
  const auto last = [](const std::string& path) { return path.substr(path.find_last_of('/') + 1); };
  const bool is_unique = std::ranges::none_of(groups, [&](const RunGroup& other) {
    return other.trace != trace && last(other.trace) == last(trace);
  });
  return is_unique ? last(trace) : trace;
}

// Best place first, failures last.
void sort_by_place(std::vector<TraceStanding>& standings) {
  std::ranges::stable_sort(standings, {}, [](const TraceStanding& standing) {
    return std::pair(!standing.failure.empty(), standing.place.value.mean);
  });
}

}  // namespace

Comparison compare(std::span<const RunReport> runs, Detail detail) {
  const std::vector<Group> groups = {{.standings = standings_of(runs)}};
  Comparison table = grid_of(groups, detail, /*has_places=*/false);
  table.seeds = seeds_in(runs);
  return table;
}

Comparison tournament(std::span<const RunGroup> groups, Detail detail) {
  std::vector<Group> all;
  std::map<double, std::vector<std::vector<TraceStanding>>> by_noise;
  std::size_t seeds = 1;
  for (const RunGroup& group : groups) {
    seeds = std::max(seeds, seeds_in(group.runs));
    const std::string trace = short_name(group.trace, groups);
    all.push_back({.title = title_of(group, trace),
                   .trace = trace,
                   .noise = group.noise,
                   .standings = standings_of(group.runs)});
    by_noise[group.noise].push_back(all.back().standings);
  }
  std::vector<Group> whole;
  for (const auto& [noise, traces] : by_noise) {
    if (traces.size() > 1) {
      whole.push_back({.title = fmt::format("all {} traces, {}", traces.size(), noise_words(noise)),
                       .trace = fmt::format("all {} traces", traces.size()),
                       .noise = noise,
                       .is_over_traces = true,
                       .standings = over_traces(traces)});
    }
  }
  all.insert(all.end(), whole.begin(), whole.end());
  for (Group& group : all) {
    sort_by_place(group.standings);
  }
  Comparison table = grid_of(all, detail, /*has_places=*/true);
  table.seeds = seeds;
  return table;
}

}  // namespace rubato
