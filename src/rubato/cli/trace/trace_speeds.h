// The speeds that generated jobs get their work from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/predict/speed_book.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {

/// The rows of a speeds file; an empty path gives the built-in sample.
Result<std::vector<SpeedRow>> load_speeds(const std::string& path);

/// The distinct (model, batch) pairs, sorted.
[[nodiscard]] std::vector<ModelChoice> model_choices(std::span<const SpeedRow> rows);

/// Looks up a pair at a GPU count, on the GPU type of the first row.
[[nodiscard]] SpeedFunction speed_of(std::span<const SpeedRow> rows);

}  // namespace rubato
