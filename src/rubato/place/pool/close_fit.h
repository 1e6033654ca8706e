// Which free GPUs to take for a job: as close together as they are, breaking the smallest block.
#pragma once

#include <span>

#include "rubato/place/pool/gpu_ranges.h"
#include "rubato/place/pool/pool_space.h"

namespace rubato {

/// Takes that many GPUs of the pool, which must be free: in one node if any has them, else in one
/// rack, else across racks in as few nodes as possible.
[[nodiscard]] GpuRanges take_close(PoolSpace& space, int gpus);

/// Takes that many GPUs of the pool as near to `own` as they are; returns only the new ones.
[[nodiscard]] GpuRanges take_near(PoolSpace& space, std::span<const GpuRange> own, int gpus);

/// Takes that many GPUs of one node, near to `own` if that has any there.
[[nodiscard]] GpuRanges take_in_node(PoolSpace& space, int node, std::span<const GpuRange> own,
                                     int gpus);

/// The part of `own` to go on with after a shrink: fewest nodes, then fewest broken blocks. Takes
/// and frees nothing.
[[nodiscard]] GpuRanges part_to_keep(PoolSpace& space, std::span<const GpuRange> own, int gpus);

}  // namespace rubato
