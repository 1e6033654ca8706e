#include "rubato/report/html.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/report/comparison.h"
#include "rubato/report/comparison_data.h"
#include "rubato/report/html_data.h"
#include "rubato/report/html_page.h"
#include "rubato/report/table.h"

namespace rubato {

Result<std::string> html_report(const ReportHeader& header, std::span<const RunReport> runs,
                                const Topology& topology) {
  const bool has_pictures =
      std::ranges::any_of(runs, [](const RunReport& run) { return run.history != nullptr; });
  return html_page(
      html_document(), header,
      {.kind = "comparison",
       .title = runs.size() == 1 ? runs.front().policy
                                 : fmt::format("{} policies compared", runs.size()),
       .jobs = runs.empty() ? "" : fmt::format("{}", runs.front().summary.jobs),
       .comparison = comparison_data(compare(runs, Detail::Full)),
       .pictures = has_pictures ? html_data(runs, topology, HtmlLimits{}) : std::string{},
       .text = table_report(runs)});
}

}  // namespace rubato
