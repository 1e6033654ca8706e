// Which GPUs a job holds: ranges of GPU numbers inside one pool.
#pragma once

#include <compare>
#include <string_view>
#include <vector>

#include "rubato/core/ids.h"

namespace rubato {

/// GPUs [first, first + count) of a pool, numbered node after node.
struct GpuRange {
  int first = 0;
  int count = 0;

  friend auto operator<=>(const GpuRange&, const GpuRange&) = default;
};

/// Workers of a job on one node.
struct NodeShare {
  NodeId node{};
  int workers = 0;

  friend auto operator<=>(const NodeShare&, const NodeShare&) = default;
};

/// How far apart the workers of a job are: the wider, the slower they talk.
enum class Locality { Node, Rack, Across };

inline constexpr int kSpans = 3;

[[nodiscard]] std::string_view to_string(Locality span);

/// The GPUs of one job, as disjoint ranges in rising order; empty when it does not run.
struct Placement {
  PoolId pool{};
  std::vector<GpuRange> ranges{};

  [[nodiscard]] int gpus() const;

  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace rubato
