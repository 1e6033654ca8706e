#include "rubato/report/html_table.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/report/escape.h"

namespace rubato {
namespace {

// What the script should take for better when it sorts for the first time.
std::string_view first_order(Better better) {
  return better == Better::Lower ? "ascending" : "descending";
}

std::string head(const ComparisonColumn& column) {
  return fmt::format(
      "<th scope=\"col\" title=\"{}\"><button type=\"button\" data-first=\"{}\">"
      "<span class=\"group\">{}</span><span class=\"title\">{} <i>{}</i></span></button></th>",
      html_escaped(column.meaning), first_order(column.better), html_escaped(column.group),
      html_escaped(column.title), html_escaped(column.unit));
}

// A thin bar under a ratio.
std::string bar(const ComparisonColumn& column, const ComparisonCell& cell) {
  if (column.unit != "%" || !cell.is_known) {
    return "";
  }
  return fmt::format(
      "<span class=\"bar\" aria-hidden=\"true\"><s style=\"width:{:.1f}%\"></s></span>",
      std::clamp(cell.value, 0.0, 1.0) * 100);
}

std::string body_cell(const ComparisonColumn& column, const ComparisonCell& cell) {
  const std::string width =
      cell.plus_minus.empty() ? "" : fmt::format(" <small>±{}</small>", cell.plus_minus);
  const std::string_view look = cell.is_best          ? " class=\"best\""
                                : !cell.is_comparable ? " class=\"apart\" title=\"Finished far "
                                                        "fewer jobs than others: not compared\""
                                                      : "";
  return fmt::format("<td data-value=\"{}\"{}>{}{}{}{}</td>",
                     cell.is_known ? shortest(cell.value) : "", look, html_escaped(cell.text),
                     width, cell.is_best ? "<span class=\"sr\"> (best)</span>" : "",
                     bar(column, cell));
}

std::string body_row(const Comparison& comparison, const ComparisonRow& entry, std::size_t row) {
  std::string html = fmt::format(
      "<tr data-row=\"{0}\"><th scope=\"row\" title=\"{1}\"><i class=\"swatch\"></i>{1}</th>", row,
      html_escaped(entry.policy));
  if (!entry.failure.empty()) {
    return html + fmt::format("<td class=\"failure\" colspan=\"{}\">failed: {}</td></tr>\n",
                              comparison.columns.size(), html_escaped(entry.failure));
  }
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    html += body_cell(comparison.columns[i], entry.cells[i]);
  }
  return html + "</tr>\n";
}

// The line above the rows of a group.
std::string band(const Comparison& comparison, const ComparisonGroup& group) {
  return group.title.empty() ? ""
                             : fmt::format(
                                   "<tr class=\"band\"><th colspan=\"{}\" scope=\"rowgroup\">"
                                   "<span>{}</span></th></tr>\n",
                                   comparison.columns.size() + 1, html_escaped(group.title));
}

}  // namespace

std::string html_table(const Comparison& comparison) {
  std::string html =
      "<table id=\"comparison\"><thead><tr><th scope=\"col\">"
      "<button type=\"button\" data-first=\"ascending\"><span class=\"group\"></span>"
      "<span class=\"title\">policy</span></button></th>";
  for (const ComparisonColumn& column : comparison.columns) {
    html += head(column);
  }
  html += "</tr></thead>\n";
  for (const ComparisonGroup& group : comparison.groups) {
    html += "<tbody>\n" + band(comparison, group);
    for (std::size_t row = 0; row < group.rows.size(); ++row) {
      html += body_row(comparison, group.rows[row], row);
    }
    html += "</tbody>\n";
  }
  return html + "</table>\n";
}

}  // namespace rubato
