#include "rubato/engine/state/node_join.h"

#include <vector>

#include <fmt/core.h>

namespace rubato {
namespace {

constexpr int kNewGpusMax = 1'024;
constexpr std::size_t kNodesOfAClusterMax = 1'000'000;

// The groups that make the same machines again: runs of equal nodes that share a rack.
std::vector<NodeGroup> groups_of(const Topology& topology) {
  std::vector<NodeGroup> groups;
  const Node* last = nullptr;
  for (const Node& node : topology.nodes()) {
    const bool continues = last != nullptr && last->rack == node.rack && last->pool == node.pool &&
                           last->gpus == node.gpus && last->gpus_per_switch == node.gpus_per_switch;
    if (continues) {
      ++groups.back().nodes;
    } else {
      const auto region = static_cast<std::size_t>(node.region);
      groups.push_back({.nodes = 1,
                        .gpus_per_node = node.gpus,
                        .gpu_type = topology.pool(node.pool).gpu_type,
                        .gpus_per_switch = node.gpus_per_switch,
                        .region = topology.regions()[region]});
    }
    last = &node;
  }
  return groups;
}

}  // namespace

Result<Topology> with_node(const Topology& topology, const NewNode& node) {
  if (node.gpus < 1 || node.gpus > kNewGpusMax) {
    return bad_input(fmt::format("a node with {} GPUs: 1 to {} expected", node.gpus, kNewGpusMax));
  }
  if (topology.nodes().size() >= kNodesOfAClusterMax) {
    return bad_input("the cluster is as large as it can be");
  }
  std::vector<NodeGroup> groups = groups_of(topology);
  Region region{.name = node.region};
  for (const Region& known : topology.regions()) {
    region = known.name == node.region ? known : region;
  }
  groups.push_back({.nodes = 1,
                    .gpus_per_node = node.gpus,
                    .gpu_type = node.gpu_type,
                    .region = std::move(region)});
  return Topology(groups);
}

}  // namespace rubato
