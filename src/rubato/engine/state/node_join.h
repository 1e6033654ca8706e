// A machine that comes to a running cluster, and the cluster with it.
#pragma once

#include <string>

#include "rubato/base/result.h"
#include "rubato/core/ids.h"
#include "rubato/core/topology.h"

namespace rubato {

/// A node has 1 to 1024 GPUs.
struct NewNode {
  int gpus = 1;
  std::string gpu_type{};
  std::string region{};

  friend bool operator==(const NewNode&, const NewNode&) = default;
};

/// The node joins, with the next free number; it is down until a NodeChange says otherwise.
struct NodeJoin {
  NodeId node{};
  NewNode what{};
};

/// The machines with one more, in a rack of its own. All that was there keeps its number: the new
/// GPUs are the last of their pool, a new pool is the last. What is wrong with the node is an
/// error.
[[nodiscard]] Result<Topology> with_node(const Topology& topology, const NewNode& node);

}  // namespace rubato
