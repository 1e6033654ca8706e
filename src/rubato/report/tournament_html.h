// The report of a tournament: one table over all traces and noises, and pictures of who wins where.
#pragma once

#include <span>
#include <string>

#include "rubato/base/result.h"
#include "rubato/report/report.h"

namespace rubato {

/// One self-contained page; needs no histories. Fails in programs that were built without web/.
[[nodiscard]] Result<std::string> tournament_html(const ReportHeader& header,
                                                  std::span<const RunGroup> groups);

}  // namespace rubato
