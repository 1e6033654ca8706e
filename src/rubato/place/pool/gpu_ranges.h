// Sets of GPU numbers as rising, disjoint ranges: what placements are made of.
#pragma once

#include <span>
#include <vector>

#include "rubato/core/placement.h"

namespace rubato {

using GpuRanges = std::vector<GpuRange>;

[[nodiscard]] constexpr int end_of(const GpuRange& range) { return range.first + range.count; }

[[nodiscard]] int total(std::span<const GpuRange> ranges);

/// How many GPUs of the set lie inside the window.
[[nodiscard]] int overlap(std::span<const GpuRange> ranges, const GpuRange& window);

/// The GPUs of the set that lie inside the window.
[[nodiscard]] GpuRanges inside(std::span<const GpuRange> ranges, const GpuRange& window);

/// All GPUs of both, which must be disjoint; ranges that touch become one.
[[nodiscard]] GpuRanges joined(std::span<const GpuRange> left, std::span<const GpuRange> right);

/// The GPUs of `from` that are not in `taken`.
[[nodiscard]] GpuRanges without(std::span<const GpuRange> from, std::span<const GpuRange> taken);

}  // namespace rubato
