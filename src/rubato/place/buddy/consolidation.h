// Brings scattered jobs together once space has become free for them.
#pragma once

#include <span>
#include <vector>

#include "rubato/place/buddy/buddy_placer.h"

namespace rubato {

/// Moves at most `moves_max` jobs of `movable` to where their span is narrower, smallest first,
/// since those fit most often and cost least; carried out in the order returned.
[[nodiscard]] std::vector<Move> consolidate(BuddyPlacer& placer, std::span<const JobId> movable,
                                            int moves_max);

}  // namespace rubato
