#include "rubato/trace/formats/formats.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rubato/trace/formats/auto_reader.h"
#include "rubato/trace/formats/elasticflow_reader.h"
#include "rubato/trace/formats/gavel_reader.h"
#include "rubato/trace/formats/helios_reader.h"
#include "rubato/trace/formats/pai_reader.h"
#include "rubato/trace/formats/philly_reader.h"
#include "rubato/trace/formats/pollux_reader.h"
#include "rubato/trace/formats/rubato_reader.h"
#include "rubato/trace/formats/sacct_reader.h"
#include "rubato/trace/formats/swf_reader.h"

namespace rubato {
namespace {

constexpr std::array kFormats{
    TraceFormat{"elasticflow", "ElasticFlow CSV with deadlines", &make_elasticflow_reader},
    TraceFormat{"philly", "Microsoft Philly cluster_job_log (JSON)", &make_philly_reader},
    TraceFormat{"helios", "SenseTime Helios cluster_log.csv", &make_helios_reader},
    TraceFormat{"pai", "Alibaba PAI v2020 pai_task_table.csv", &make_pai_reader},
    TraceFormat{"pollux", "Pollux and Sia workload CSV", &make_pollux_reader},
    TraceFormat{"gavel", "Gavel and Shockwave .trace", &make_gavel_reader},
    TraceFormat{"swf", "Standard Workload Format", &make_swf_reader},
    TraceFormat{"sacct", "Slurm `sacct --json`", &make_sacct_reader},
    TraceFormat{"rubato", "rubato-trace/2, JSON Lines", &make_rubato_reader},
};

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

Result<std::unique_ptr<Reader>> make_reader(std::string_view format, ReaderSetup setup) {
  if (format == "auto") {
    return make_auto_reader(std::move(setup));
  }
  std::vector<std::string_view> names{"auto"};
  for (const TraceFormat& known : kFormats) {
    if (known.name == format) {
      return known.make(std::move(setup));
    }
    names.push_back(known.name);
  }
  const std::string hint = did_you_mean(format, names);
  return bad_input(fmt::format("format: found {}, expected one of {}{}{}", shown(format),
                               fmt::join(names, ", "), hint.empty() ? "" : "; ", hint));
}

}  // namespace rubato
