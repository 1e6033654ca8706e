// Planned migration: whom to move where, so that a request fits as closely as in an empty pool.
//
// One node (or enough whole nodes of one rack) is cleared by evicting smaller jobs, exactly as many
// GPUs as are missing where sizes permit. The evicted find new homes, largest first, each in free
// space or, failing that, in the same way; so every job moves at most once and only smaller ones
// make way. Jobs that lie scattered anyway give up single GPUs and get others last. If nodes, racks
// and jobs are powers of two, all jobs may move and the free GPUs suffice, this always succeeds:
// what larger jobs leave of a node or rack is a multiple of the size that looks for a home.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/place/pool/gpu_ranges.h"
#include "rubato/place/pool/pool_space.h"

namespace rubato {

/// So many GPUs in one node.
struct NodePart {
  int node = 0;
  int gpus = 0;
};

/// A job that may be moved and the GPUs it has.
struct Movable {
  JobId job{};
  GpuRanges gpus{};
};

struct RoomRequest {
  int workers = 0;
  GpuRanges own{};  // What the job that asks has already; counts as free for it alone.
  std::span<const Movable> movable{};
};

/// Where one job must go: all its parts, rising by node, also those that stay as they are.
struct Relocation {
  JobId job{};
  std::vector<NodePart> parts{};
};

/// In an order in which every job finds its new GPUs free; nothing if no plan was found.
/// Costs O(nodes + movable jobs) for each job that has to move.
[[nodiscard]] std::optional<std::vector<Relocation>> plan_room(const PoolSpace& space,
                                                               const RoomRequest& request);

}  // namespace rubato
