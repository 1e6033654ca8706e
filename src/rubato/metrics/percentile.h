// Percentiles by nearest rank: always a value that really occurred, never one in between.
#pragma once

#include <span>

namespace rubato {

/// The smallest sample that at least `percent` of all samples do not exceed: rank
/// ceil(percent / 100 * n), counted from 1. `sorted` rises; `percent` is 1 to 100; 0 if empty.
[[nodiscard]] double percentile(std::span<const double> sorted, int percent);

/// Added in rising index order; 0 if empty.
[[nodiscard]] double mean(std::span<const double> samples);

}  // namespace rubato
