#include "rubato/report/html.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/report/comparison.h"
#include "rubato/report/escape.h"
#include "rubato/report/html_assets.h"
#include "rubato/report/html_data.h"
#include "rubato/report/html_page.h"
#include "rubato/report/html_table.h"

namespace rubato {
namespace {

constexpr std::string_view kCharts = R"html(
<section aria-label="Charts">
<div id="legend" class="legend" role="group" aria-label="Policies shown in the charts"></div>
<div class="grid">
<figure class="card" id="jct"><h2>Job completion time</h2>
<p>Share of finished jobs done within a time; further left is better.</p>
<div class="plot"></div></figure>
<figure class="card" id="slowdown"><h2>Slowdown</h2>
<p>Completion time over run time alone on the empty cluster, finished jobs.</p>
<div class="plot"></div></figure>
<figure class="card" id="used"><h2>GPUs in use</h2>
<p>Share of the available GPUs held by jobs, over time.</p>
<div class="plot"></div></figure>
<figure class="card" id="deadlines"><h2>Deadlines met</h2>
<p>Of all deadlines that have come so far, the share that was met.</p>
<div class="plot"></div></figure>
</div>
</section>
<section class="card" id="promises">
<div class="bar-head"><h2>Promised and actual finish</h2>
<label>Policy <select></select></label></div>
<p class="note"></p>
<div class="pair"><div><h3>Slack over time</h3><div class="plot scatter"></div></div>
<div><h3>Jobs by slack</h3><div class="plot slack"></div></div></div>
</section>
<section class="card" id="gantt">
<div class="bar-head"><h2>Who held which GPU</h2><label>Policy <select></select></label>
<label>Find job <input type="search" placeholder="name" autocomplete="off"></label>
<span class="buttons" role="group" aria-label="Zoom">
<button type="button" data-zoom="in" aria-label="Zoom in">+</button>
<button type="button" data-zoom="out" aria-label="Zoom out">−</button>
<button type="button" data-zoom="all">All</button></span></div>
<p class="note"></p>
<div class="key" aria-hidden="true"><span><i class="met"></i>deadline met</span>
<span><i class="missed"></i>deadline missed</span><span><i class="free"></i>no deadline</span></div>
<div class="plot"><canvas tabindex="0" role="img"></canvas></div>
<p class="hint">Drag to move; Ctrl + wheel, pinch or double-click to zoom; arrow keys, +, − and 0
work too.</p>
</section>
<div id="tip" role="status" hidden></div>
<svg id="ns" width="0" height="0" aria-hidden="true"></svg>
)html";

std::string table_section(std::span<const RunReport> runs) {
  const Comparison comparison = compare(runs, Detail::Full);
  std::string note =
      "Times are those of finished jobs; percentiles are by nearest rank. "
      "Point at a heading for its meaning, press it to sort.";
  if (comparison.seeds > 1) {
    note += fmt::format(" Means of {} seeds ± 95% confidence; the charts show the first seed.",
                        comparison.seeds);
  }
  return fmt::format(
      "<section class=\"card\" aria-label=\"Comparison\"><h2>Comparison</h2>\n<p>{}</p>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Comparison "
      "table\">{}</div>"
      "</section>\n<noscript><p class=\"card\">The charts below need JavaScript; the table does "
      "not.</p></noscript>\n",
      note, html_table(comparison));
}

}  // namespace

std::string html_report(const ReportHeader& header, std::span<const RunReport> runs,
                        const Topology& topology) {
  const bool has_pictures =
      std::ranges::any_of(runs, [](const RunReport& run) { return run.history != nullptr; });
  std::string html = html_head(header);
  html += html_header(
      header,
      runs.size() == 1 ? runs.front().policy : fmt::format("{} policies compared", runs.size()),
      runs.empty() ? "" : fmt::format("{}", runs.front().summary.jobs));
  html += table_section(runs);
  if (has_pictures) {
    html += kCharts;
  }
  html += "</main>\n";
  if (has_pictures) {
    html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                        script_safe(html_data(runs, topology, HtmlLimits{})));
    html += html_script({html_script_base(), html_script_axes(), html_script_sort(),
                         html_script_table(), html_script_lines(), html_script_promises(),
                         html_script_gantt(), html_script_gantt_input()});
  }
  return html + "</body>\n</html>\n";
}

}  // namespace rubato
