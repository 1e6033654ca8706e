// The comparison of policies as JSON, for the table and the pictures of an HTML report.
//
//   {"columns": [{"group", "title", "unit", "meaning", "better": 1 more, -1 less, 0 neither}],
//    "groups": [{"title", "trace", "noise", "relative": over several traces,
//                "rows": [{"policy", "cells": [null or {"value", "text", "half", "plus_minus",
//                          "best": true, "apart": true}...]} or {"policy", "failure", "cells": []}
//               ]}],
//    "seeds", "comparable_share"}
//
// Of a cell, "half" and "plus_minus" are there over several seeds or traces, "best" and "apart" (of
// a policy that finished far fewer jobs than others, hence not compared) where they are true.
#pragma once

#include <string>

#include "rubato/report/comparison.h"

namespace rubato {

[[nodiscard]] std::string comparison_data(const Comparison& comparison);

}  // namespace rubato
