#include "rubato/cli/simulate/report_files.h"

#include <vector>

#include <fmt/core.h>

#include "rubato/cli/process/trace_output.h"
#include "rubato/report/html.h"
#include "rubato/report/perfetto.h"
#include "rubato/report/tournament_html.h"

namespace rubato {
namespace {

// All runs; over several groups a policy alone does not tell which one is meant.
std::vector<RunReport> labelled(std::span<const RunGroup> groups) {
  std::vector<RunReport> runs;
  for (const RunGroup& group : groups) {
    for (RunReport run : group.runs) {
      if (groups.size() > 1) {
        run.policy += " on " + group.trace.substr(group.trace.find_last_of('/') + 1);
        run.policy += group.noise > 0 ? fmt::format(", noise {:g}", group.noise) : "";
      }
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

Status write_file(const std::string& path, std::string_view text) {
  OutputFile out(path);
  if (auto opened = out.open(); !opened) {
    return opened;
  }
  out.write(text);
  return out.commit();
}

}  // namespace

Status write_pictures(const ReportHeader& header, std::span<const RunGroup> groups,
                      const Topology& topology, const PictureFiles& files) {
  if (!files.html.empty()) {
    const auto page = files.is_tournament ? tournament_html(header, groups)
                                          : html_report(header, labelled(groups), topology);
    if (!page) {
      return page.error();
    }
    if (Status written = write_file(files.html, *page); !written) {
      return written;
    }
  }
  if (!files.perfetto.empty()) {
    OutputFile out(files.perfetto);
    if (auto opened = out.open(); !opened) {
      return opened;
    }
    write_perfetto(labelled(groups), topology, [&](std::string_view text) { out.write(text); });
    return out.commit();
  }
  return ok_status();
}

}  // namespace rubato
