#include "rubato/report/tournament_html.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rubato/report/comparison.h"
#include "rubato/report/escape.h"
#include "rubato/report/html_assets.h"
#include "rubato/report/html_page.h"
#include "rubato/report/html_table.h"
#include "rubato/report/standings.h"

namespace rubato {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTournamentCharts = R"html(
<section class="grid" aria-label="Charts">
<figure class="card" id="scatter"><div class="bar-head"><h2>Two aims at once</h2></div>
<p class="note"></p>
<div class="plot"></div></figure>
<figure class="card" id="bars"><div class="bar-head"><h2>One aim</h2>
<label>Show <select></select></label></div>
<p class="note"></p>
<div class="plot"></div></figure>
</section>
<div id="tip" role="status" hidden></div>
<svg id="ns" width="0" height="0" aria-hidden="true"></svg>
)html";

Json cell_data(const ComparisonCell& cell) {
  return cell.is_known ? Json::array({cell.value, cell.half_width, cell.text, cell.is_comparable})
                       : Json();
}

Json group_data(const ComparisonGroup& group) {
  Json rows = Json::array();
  for (const ComparisonRow& row : group.rows) {
    if (!row.failure.empty()) {
      continue;
    }
    Json cells = Json::array();
    for (const ComparisonCell& cell : row.cells) {
      cells.push_back(cell_data(cell));
    }
    rows.push_back({{"policy", row.policy}, {"cells", std::move(cells)}});
  }
  return {{"trace", group.trace},
          {"noise", group.noise},
          {"relative", group.is_over_traces},
          {"rows", std::move(rows)}};
}

Json column_data(const ComparisonColumn& column) {
  return {{"name", fmt::format("{} {}", column.group, column.title)},
          {"unit", column.unit},
          {"meaning", column.meaning},
          {"better", column.better == Better::Higher  ? 1
                     : column.better == Better::Lower ? -1
                                                      : 0}};
}

std::string data_of(const Comparison& comparison) {
  Json data;
  data["columns"] = Json::array();
  for (const ComparisonColumn& column : comparison.columns) {
    data["columns"].push_back(column_data(column));
  }
  data["groups"] = Json::array();
  for (const ComparisonGroup& group : comparison.groups) {
    data["groups"].push_back(group_data(group));
  }
  return data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// How the numbers are made, for those who do not want to look it up.
std::string note_of(const Comparison& comparison) {
  std::string note = fmt::format(
      "Best of each column in colour. Times are those of finished jobs; a policy that finished "
      "less "
      "than {:g}% of the jobs another did is shown in grey and its times are not compared. Place "
      "is "
      "the mean rank by deadlines met, mean and p99 JCT, makespan, efficiency, fairness and value. "
      "Point at a heading for its meaning, press it to sort.",
      kComparableShare * 100);
  if (comparison.seeds > 1) {
    note += fmt::format(" Means of {} seeds ± 95% confidence.", comparison.seeds);
  }
  if (std::ranges::any_of(comparison.groups, &ComparisonGroup::is_over_traces)) {
    note +=
        " Over all traces, times, rho and the sum of values are geometric means of ratios to the "
        "best policy of each trace (x); the rest are plain means; ± is over traces.";
  }
  return note;
}

std::string table_section(const Comparison& comparison) {
  return fmt::format(
      "<section class=\"card\" id=\"standings\" aria-label=\"Standings\">"
      "<div class=\"bar-head\"><h2>Standings</h2>"
      "<label id=\"pick\" hidden>Trace <select></select></label></div>\n<p>{}</p>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Standings table\">{}</div>"
      "</section>\n<noscript><p class=\"card\">The charts need JavaScript; the table does "
      "not.</p></noscript>\n",
      note_of(comparison), html_table(comparison));
}

std::size_t count_traces(std::span<const RunGroup> groups) {
  std::set<std::string_view> traces;
  for (const RunGroup& group : groups) {
    traces.insert(group.trace);
  }
  return traces.size();
}

}  // namespace

std::string tournament_data(std::span<const RunGroup> groups) {
  return data_of(tournament(groups, Detail::Full));
}

std::string tournament_html(const ReportHeader& header, std::span<const RunGroup> groups) {
  const Comparison comparison = tournament(groups, Detail::Full);
  const std::size_t traces = count_traces(groups);
  const std::size_t policies = groups.empty() ? 0 : groups.front().runs.size();
  std::string html = html_head(header);
  html += fmt::format("<style>{}</style>\n", html_style_tournament());
  html += html_header(
      header,
      fmt::format("{} policies on {} {}", policies, traces, traces == 1 ? "trace" : "traces"), "");
  html += table_section(comparison) + std::string(kTournamentCharts) + "</main>\n";
  html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                      script_safe(data_of(comparison)));
  html += html_script(
      {html_script_base(), html_script_axes(), html_script_sort(), html_script_tournament()});
  return html + "</body>\n</html>\n";
}

}  // namespace rubato
