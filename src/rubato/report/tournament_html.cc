#include "rubato/report/tournament_html.h"

#include <set>

#include <fmt/core.h>

#include "rubato/report/comparison.h"
#include "rubato/report/comparison_data.h"
#include "rubato/report/html_page.h"
#include "rubato/report/table.h"

namespace rubato {
namespace {

std::size_t count_traces(std::span<const RunGroup> groups) {
  std::set<std::string_view> traces;
  for (const RunGroup& group : groups) {
    traces.insert(group.trace);
  }
  return traces.size();
}

}  // namespace

Result<std::string> tournament_html(const ReportHeader& header, std::span<const RunGroup> groups) {
  const std::size_t traces = count_traces(groups);
  const std::size_t policies = groups.empty() ? 0 : groups.front().runs.size();
  return html_page(html_document(), header,
                   {.kind = "tournament",
                    .title = fmt::format("{} policies on {} {}", policies, traces,
                                         traces == 1 ? "trace" : "traces"),
                    .comparison = comparison_data(tournament(groups, Detail::Full)),
                    .text = tournament_table(groups)});
}

}  // namespace rubato
