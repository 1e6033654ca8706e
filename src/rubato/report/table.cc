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
std::string sanitized(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return text;
}

std::string spaces(std::size_t wanted, std::size_t present) {
  return std::string(wanted > present ? wanted - present : 0, ' ');
}

// A cell as it is printed; without colour its mark keeps a place in cells that have none.
std::string cell_text(const ComparisonCell& cell, bool use_colour) {
  std::string text = cell.text + cell.plus_minus;
  if (!use_colour) {
    text += cell.is_best ? "*" : cell.is_comparable ? " " : "†";
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

// Calls `visit` with every row that has cells.
template <typename Table, typename Visit>
void for_each_row(Table& table, Visit visit) {
  for (auto& group : table.groups) {
    for (auto& row : group.rows) {
      if (row.failure.empty()) {
        visit(row);
      }
    }
  }
}

// Gives the half widths of each column one length, so that the means stand in line.
void align_half_widths(Comparison& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t longest = 0;
    for_each_row(table, [&](const ComparisonRow& row) {
      longest = std::max(longest, row.cells[i].plus_minus.size());
    });
    for_each_row(table, [&](ComparisonRow& row) {
      std::string& width = row.cells[i].plus_minus;
      const std::string_view sign = longest == 0 ? "" : width.empty() ? "  " : " ±";
      width = fmt::format("{}{}{}", sign, width, spaces(longest, width.size()));
    });
  }
}

// The width of each column, the policy's name first.
std::vector<std::size_t> widths_of(const Comparison& table, std::span<const Head> heads,
                                   bool use_colour) {
  std::vector<std::size_t> widths{kPolicy.size()};
  for (const Head& head : heads) {
    widths.push_back(std::max(width_of(head.group), width_of(head.title)));
  }
  for (const ComparisonGroup& group : table.groups) {
    for (const ComparisonRow& row : group.rows) {
      widths[0] = std::max(widths[0], width_of(sanitized(row.policy)));
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        widths[i + 1] = std::max(widths[i + 1], width_of(cell_text(row.cells[i], use_colour)));
      }
    }
  }
  return widths;
}

// Columns [from, to) that stand side by side.
struct Block {
  std::size_t from = 0;
  std::size_t to = 0;
};

// As few blocks as the terminal allows; columns of one group stay together.
std::vector<Block> blocks_of(const Comparison& table, std::span<const std::size_t> widths,
                             std::size_t width) {
  std::vector<Block> blocks{{}};
  std::size_t used = widths[0];
  for (std::size_t from = 0; from < table.columns.size();) {
    std::size_t to = from;
    std::size_t needed = 0;
    for (; to < table.columns.size() && table.columns[to].group == table.columns[from].group;
         ++to) {
      needed += kGap.size() + widths[to + 1];
    }
    if (width > 0 && used + needed > width && blocks.back().to > blocks.back().from) {
      blocks.push_back({.from = from, .to = from});
      used = widths[0];
    }
    blocks.back().to = to;
    used += needed;
    from = to;
  }
  return blocks;
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
                       const Block& block, bool use_colour) {
  std::string groups = spaces(widths[0], 0);
  std::string titles = fmt::format("{}{}", kPolicy, spaces(widths[0], kPolicy.size()));
  for (std::size_t i = block.from; i < block.to; ++i) {
    groups += fmt::format("{}{}{}", kGap, spaces(widths[i + 1], width_of(heads[i].group)),
                          heads[i].group);
    titles += fmt::format("{}{}{}", kGap, spaces(widths[i + 1], width_of(heads[i].title)),
                          heads[i].title);
  }
  return coloured(ended(groups) + ended(titles), kBold, use_colour);
}

std::string row_line(const ComparisonRow& row, std::span<const std::size_t> widths,
                     const Block& block, bool use_colour) {
  const std::string name = sanitized(row.policy);
  std::string line = name + spaces(widths[0], width_of(name));
  if (!row.failure.empty()) {
    const std::string why = fmt::format("failed: {}", sanitized(row.failure));
    return fmt::format("{}{}{}", line, kGap, coloured(why, kFaint, use_colour));
  }
  for (std::size_t i = block.from; i < block.to; ++i) {
    const ComparisonCell& cell = row.cells[i];
    const std::string text = cell_text(cell, use_colour);
    line += fmt::format("{}{}{}", kGap, spaces(widths[i + 1], width_of(text)),
                        coloured(text, cell.is_best ? kBest : kFaint,
                                 use_colour && (cell.is_best || !cell.is_comparable)));
  }
  return line;
}

// Whether any cell is left out of the comparison.
bool has_incomparable(const Comparison& table) {
  bool found = false;
  for_each_row(table, [&](const ComparisonRow& row) {
    found = found || !std::ranges::all_of(row.cells, &ComparisonCell::is_comparable);
  });
  return found;
}

// What only a tournament has to say.
std::string tournament_legend(const Comparison& table) {
  std::string text;
  if (table.has_places) {
    text +=
        "\nplace: mean rank by deadlines met, JCT avg and p99, makespan, efficiency, fairness and"
        " value.\nfair: share of all jobs done at most 10% later than with an equal share (rho <="
        " 1.1).";
  }
  if (std::ranges::any_of(table.groups, &ComparisonGroup::is_over_traces)) {
    text +=
        "\nall traces: x is times the best policy of the trace, geometric mean; the rest are "
        "means.";
  }
  return text;
}

// What a reader must know to read the numbers right.
std::string legend(const Comparison& table, bool use_colour) {
  std::string text = "JCT, p99: finished jobs only.";
  const auto has_bound = [](const ComparisonColumn& column) { return column.title == "bound"; };
  if (std::ranges::any_of(table.columns, has_bound)) {
    text += " bound: no scheduler can meet more deadlines.";
  }
  if (std::ranges::any_of(table.groups, [](const auto& group) { return group.rows.size() > 1; })) {
    text += use_colour ? " Bold: best." : " *: best.";
  }
  if (table.seeds > 1) {
    text += fmt::format(" Mean of {} seeds ±95% confidence.", table.seeds);
  }
  if (has_incomparable(table)) {
    text += fmt::format("\n{}: finished far fewer jobs than others; its times are not compared.",
                        use_colour ? "faint" : "†");
  }
  return coloured(text + tournament_legend(table), kFaint, use_colour);
}

// The rows of a group under its title. Why a policy failed is said once, in the first block.
std::string group_lines(const ComparisonGroup& group, std::span<const std::size_t> widths,
                        const Block& block, bool use_colour) {
  std::string text =
      group.title.empty() ? "" : "\n" + coloured(sanitized(group.title), kBold, use_colour) + "\n";
  for (const ComparisonRow& row : group.rows) {
    if (row.failure.empty() || block.from == 0) {
      text += ended(row_line(row, widths, block, use_colour));
    }
  }
  return text;
}

std::string drawn(Comparison table, const TableOptions& options) {
  const bool use_colour = options.use_colour;
  align_half_widths(table);
  const std::vector<Head> heads = heads_of(table, use_colour);
  const std::vector<std::size_t> widths = widths_of(table, heads, use_colour);
  std::string text;
  for (const Block& block : blocks_of(table, widths, options.width)) {
    text += (text.empty() ? "" : "\n") + head_lines(heads, widths, block, use_colour);
    for (const ComparisonGroup& group : table.groups) {
      text += group_lines(group, widths, block, use_colour);
    }
  }
  const bool has_titles = !table.groups.empty() && !table.groups.front().title.empty();
  return text + (has_titles ? "\n" : "") + ended(legend(table, use_colour));
}

}  // namespace

std::string table_report(std::span<const RunReport> runs, TableOptions options) {
  return drawn(compare(runs, Detail::Terminal), options);
}

std::string tournament_table(std::span<const RunGroup> groups, TableOptions options) {
  return drawn(tournament(groups, Detail::Tournament), options);
}

}  // namespace rubato
