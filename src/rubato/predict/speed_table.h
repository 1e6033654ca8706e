// The text of a speeds file to rows of the speed book.
#pragma once

#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// CSV with the columns gpu_type, model, global_batch, gpus, iters_per_s and, if wanted, span
/// (node, rack or across), in any order. Errors name file, line and field.
[[nodiscard]] Result<std::vector<SpeedRow>> parse_speeds(std::string_view text,
                                                         std::string_view file);

/// A small table from a formula, for the demo and for generated traces, so that neither needs a
/// download.
[[nodiscard]] std::vector<SpeedRow> sample_speeds();

}  // namespace rubato
