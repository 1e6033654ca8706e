// The comparison as one HTML file that needs no network and no other file.
#pragma once

#include <span>
#include <string>

#include "rubato/base/result.h"
#include "rubato/core/topology.h"
#include "rubato/report/report.h"

namespace rubato {

/// The page of web/ with a block of JSON, from which its script draws the table, and charts for the
/// runs that have a history. Thinned to stay below about 3 MB, whatever the size of the runs. Fails
/// in programs that were built without web/.
[[nodiscard]] Result<std::string> html_report(const ReportHeader& header,
                                              std::span<const RunReport> runs,
                                              const Topology& topology);

}  // namespace rubato
