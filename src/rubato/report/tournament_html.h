// The report of a tournament: one table over all traces and noises, and pictures of who wins where.
#pragma once

#include <span>
#include <string>

#include "rubato/report/report.h"

namespace rubato {

/// One self-contained page; needs no histories.
[[nodiscard]] std::string tournament_html(const ReportHeader& header,
                                          std::span<const RunGroup> groups);

/// The numbers behind its pictures, as JSON.
[[nodiscard]] std::string tournament_data(std::span<const RunGroup> groups);

}  // namespace rubato
