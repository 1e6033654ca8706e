// The JSON of `rubato sim --json`: names and order of the fixed fields never change.
#pragma once

#include <span>
#include <string>

#include "rubato/report/report.h"

namespace rubato {

/// One object, indented, with a final newline. Over several seeds every number of a summary is the
/// mean, and "ci" holds the half widths of the 95% confidence intervals. Text that is not UTF-8
/// gets replacement characters. A row says its trace or noise when there are several; over several
/// traces "aggregate" holds each policy's means and its numbers over the best (standings.h). A run
/// that failed has an "error" in place of numbers.
[[nodiscard]] std::string json_report(const ReportHeader& header, std::span<const RunGroup> groups);

}  // namespace rubato
