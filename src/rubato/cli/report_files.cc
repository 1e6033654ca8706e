#include "rubato/cli/report_files.h"

#include <vector>

#include "rubato/cli/trace_output.h"
#include "rubato/report/html.h"
#include "rubato/report/perfetto.h"

namespace rubato {
namespace {

// Over several traces a policy alone does not tell which run is meant.
std::vector<RunReport> labelled(std::span<const RunReport> runs) {
  std::vector<RunReport> copies(runs.begin(), runs.end());
  for (RunReport& run : copies) {
    if (!run.trace.empty()) {
      run.policy += " on " + run.trace.substr(run.trace.find_last_of('/') + 1);
    }
  }
  return copies;
}

}  // namespace

Status write_pictures(const ReportHeader& header, std::span<const RunReport> runs,
                      const Topology& topology, const PictureFiles& files) {
  const std::vector<RunReport> reports = labelled(runs);
  if (!files.html.empty()) {
    OutputFile out(files.html);
    if (auto opened = out.open(); !opened) {
      return opened;
    }
    out.write(html_report(header, reports, topology));
    if (auto done = out.commit(); !done) {
      return done;
    }
  }
  if (!files.perfetto.empty()) {
    OutputFile out(files.perfetto);
    if (auto opened = out.open(); !opened) {
      return opened;
    }
    write_perfetto(reports, topology, [&](std::string_view text) { out.write(text); });
    return out.commit();
  }
  return ok_status();
}

}  // namespace rubato
