// The comparison of policies as an HTML table; readable without any script.
#pragma once

#include <string>

#include "rubato/report/comparison.h"

namespace rubato {

/// A <table>; the script makes its heads sort the rows by the cells' data-value.
[[nodiscard]] std::string html_table(const Comparison& comparison);

}  // namespace rubato
