// The comparison of policies for a terminal.
#pragma once

#include <span>
#include <string>

#include "rubato/report/report.h"

namespace rubato {

struct TableOptions {
  bool use_colour = false;  // The caller knows whether a terminal is listening.
};

/// Aligned columns, one line for each policy, the best of each column marked: with colour in bold
/// green, without by a star. Times are of finished jobs only.
[[nodiscard]] std::string table_report(std::span<const RunReport> runs, TableOptions options = {});

}  // namespace rubato
