// The comparison as one HTML file that needs no network and no other file.
#pragma once

#include <span>
#include <string>

#include "rubato/core/topology.h"
#include "rubato/report/report.h"

namespace rubato {

/// Tables stand in the text; charts are drawn by a script of our own from a block of JSON, for the
/// runs that have a history. Thinned to stay below about 3 MB, whatever the size of the runs.
[[nodiscard]] std::string html_report(const ReportHeader& header, std::span<const RunReport> runs,
                                      const Topology& topology);

}  // namespace rubato
