// The comparison of policies for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "rubato/report/report.h"

namespace rubato {

struct TableOptions {
  bool use_colour = false;  // The caller knows whether a terminal is listening.
  std::size_t width = 0;    // Of the terminal; a wider table goes on below. 0: as wide as it gets.
};

/// Aligned columns, one line for each policy, the best of each column marked: with colour in bold
/// green, without by a star. Times are of finished jobs only.
[[nodiscard]] std::string table_report(std::span<const RunReport> runs, TableOptions options = {});

/// The same for a tournament: a block of lines for each trace and noise, then one over all traces.
[[nodiscard]] std::string tournament_table(std::span<const RunGroup> groups,
                                           TableOptions options = {});

}  // namespace rubato
