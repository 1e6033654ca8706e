#include "rubato/report/table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "rubato/report/comparison.h"

namespace rubato {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kBest = "\x1b[1;32m";
constexpr std::string_view kFaint = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kGap = "  ";
constexpr std::string_view kPolicy = "policy";

// Characters a terminal shows for UTF-8 text of single-width characters.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// A name that cannot move the cursor or change colours.
std::string harmless(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return text;
}

std::string spaces(std::size_t wanted, std::size_t present) {
  return std::string(wanted > present ? wanted - present : 0, ' ');
}

// A cell as it is printed; the star keeps its place in cells that are not best.
std::string cell_text(const ComparisonCell& cell, bool use_colour) {
  std::string text = cell.text;
  if (!cell.plus_minus.empty()) {
    text += " ±" + cell.plus_minus;
  }
  if (!use_colour) {
    text += cell.is_best ? '*' : ' ';
  }
  return text;
}

// The two lines above a column: its group, unless the column before has the same, and its title.
struct Head {
  std::string group{};
  std::string title{};
};

std::vector<Head> heads_of(const Comparison& table, bool use_colour) {
  const std::string_view room = use_colour ? "" : " ";
  std::vector<Head> heads;
  std::string_view group_before;
  for (const ComparisonColumn& column : table.columns) {
    const std::string_view between = column.title.empty() || column.unit.empty() ? "" : " ";
    heads.push_back(
        {.group = column.group == group_before ? "" : fmt::format("{}{}", column.group, room),
         .title = fmt::format("{}{}{}{}", column.title, between, column.unit, room)});
    group_before = column.group;
  }
  return heads;
}

// Pads the half widths of each column to one length, so that the means stand in line.
void align_half_widths(Comparison& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t longest = 0;
    for (const ComparisonRow& row : table.rows) {
      longest = std::max(longest, row.cells[i].plus_minus.size());
    }
    for (ComparisonRow& row : table.rows) {
      row.cells[i].plus_minus += spaces(longest, row.cells[i].plus_minus.size());
    }
  }
}

// The width of each column, the policy's name first.
std::vector<std::size_t> widths_of(const Comparison& table, std::span<const Head> heads,
                                   bool use_colour) {
  std::vector<std::size_t> widths{kPolicy.size()};
  for (const Head& head : heads) {
    widths.push_back(std::max(width_of(head.group), width_of(head.title)));
  }
  for (const ComparisonRow& row : table.rows) {
    widths[0] = std::max(widths[0], width_of(harmless(row.policy)));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i + 1] = std::max(widths[i + 1], width_of(cell_text(row.cells[i], use_colour)));
    }
  }
  return widths;
}

std::string coloured(std::string text, std::string_view colour, bool use_colour) {
  return use_colour ? fmt::format("{}{}{}", colour, text, kPlain) : text;
}

// Without the spaces that end a line.
std::string ended(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Both lines of the head.
std::string head_lines(std::span<const Head> heads, std::span<const std::size_t> widths,
                       bool use_colour) {
  std::string groups = spaces(widths[0], 0);
  std::string titles = fmt::format("{}{}", kPolicy, spaces(widths[0], kPolicy.size()));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    groups += fmt::format("{}{}{}", kGap, spaces(widths[i + 1], width_of(heads[i].group)),
                          heads[i].group);
    titles += fmt::format("{}{}{}", kGap, spaces(widths[i + 1], width_of(heads[i].title)),
                          heads[i].title);
  }
  return coloured(ended(groups) + ended(titles), kBold, use_colour);
}

std::string row_line(const ComparisonRow& row, std::span<const std::size_t> widths,
                     bool use_colour) {
  const std::string name = harmless(row.policy);
  std::string line = name + spaces(widths[0], width_of(name));
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const std::string text = cell_text(row.cells[i], use_colour);
    line += fmt::format("{}{}{}", kGap, spaces(widths[i + 1], width_of(text)),
                        coloured(text, kBest, use_colour && row.cells[i].is_best));
  }
  return line;
}

// What a reader must know to read the numbers right.
std::string legend(const Comparison& table, bool use_colour) {
  std::string text = "JCT, p99: finished jobs only.";
  const auto has_bound = [](const ComparisonColumn& column) { return column.title == "bound"; };
  if (std::ranges::any_of(table.columns, has_bound)) {
    text += " bound: no scheduler can meet more deadlines.";
  }
  if (table.rows.size() > 1) {
    text += use_colour ? " Bold: best." : " *: best.";
  }
  if (table.seeds > 1) {
    text += fmt::format(" Mean of {} seeds ±95% confidence.", table.seeds);
  }
  return coloured(text, kFaint, use_colour);
}

}  // namespace

std::string table_report(std::span<const RunReport> runs, TableOptions options) {
  Comparison table = compare(runs, Detail::Terminal);
  align_half_widths(table);
  const std::vector<Head> heads = heads_of(table, options.use_colour);
  const std::vector<std::size_t> widths = widths_of(table, heads, options.use_colour);
  std::string text = head_lines(heads, widths, options.use_colour);
  for (const ComparisonRow& row : table.rows) {
    text += ended(row_line(row, widths, options.use_colour));
  }
  return text + ended(legend(table, options.use_colour));
}

}  // namespace rubato
