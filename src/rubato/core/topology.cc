#include "rubato/core/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "rubato/base/check.h"
#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr int kNodesMax = 1'000'000;
constexpr int kGpusPerNodeMax = 1'024;
constexpr int kGpusMax = 16'000'000;

// The number of nodes or GPUs in one part of a cluster description, if it is a sensible one.
std::optional<int> count_within(std::string_view text, int max) {
  const auto count = parse_int(text);
  return count && *count >= 1 && *count <= max ? std::optional(static_cast<int>(*count))
                                               : std::nullopt;
}

constexpr double kDelayMax = 1e9;  // Seconds.
constexpr double kGbpsMax = 1e6;

// The text before the separator; `text` is left with what follows it, without a value if there is
// no separator.
std::string_view take_until(std::optional<std::string_view>& text, char separator) {
  const std::size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  text = end == std::string_view::npos ? std::nullopt : std::optional(text->substr(end + 1));
  return part;
}

// A number from zero to `max`; zero if there is no text.
std::optional<double> amount_within(std::optional<std::string_view> text, double max) {
  const auto amount = text ? parse_double(*text) : std::optional(0.0);
  return amount && *amount >= 0 && *amount <= max ? amount : std::nullopt;
}

// `NAME[/SECONDS[/GBPS]]`.
Result<Region> parse_region(std::string_view text) {
  std::optional<std::string_view> rest = text;
  Region region{.name = std::string(trimmed(take_until(rest, '/')))};
  std::optional<std::string_view> seconds;
  if (rest) {
    seconds = take_until(rest, '/');
  }
  const auto delay = amount_within(seconds, kDelayMax);
  const auto gbps = amount_within(rest, kGbpsMax);
  if (region.name.empty() || !delay || !gbps) {
    return bad_input(fmt::format(
        "cluster '@{}': expected @REGION[/SECONDS[/GBPS]], such as @cloud or @cloud/3/10", text));
  }
  region.delay = from_seconds_up(*delay);
  region.gbps = *gbps;
  return region;
}

// One `NxG[:TYPE][@REGION]` part.
Result<NodeGroup> parse_group(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    auto group = parse_group(trimmed(text.substr(0, at)));
    auto region = parse_region(text.substr(at + 1));
    if (group && region) {
      group->region = *std::move(region);
    }
    return !region ? Result<NodeGroup>(region.error()) : group;
  }
  const std::size_t colon = text.find(':');
  const std::string_view counts = text.substr(0, colon);
  const std::size_t cross = counts.find_first_of("xX");
  if (cross == std::string_view::npos) {
    return bad_input(
        fmt::format("cluster '{}': expected NODESxGPUS[:TYPE], such as 16x8 or 16x8:A100", text));
  }
  const auto nodes = count_within(counts.substr(0, cross), kNodesMax);
  const auto gpus = count_within(counts.substr(cross + 1), kGpusPerNodeMax);
  if (!nodes || !gpus) {
    return bad_input(fmt::format("cluster '{}': {} must be a whole number from 1 to {}", text,
                                 nodes ? "GPUs per node" : "nodes",
                                 nodes ? kGpusPerNodeMax : kNodesMax));
  }
  NodeGroup group{.nodes = *nodes, .gpus_per_node = *gpus};
  if (colon != std::string_view::npos) {
    group.gpu_type = std::string(trimmed(text.substr(colon + 1)));
    if (group.gpu_type.empty()) {
      return bad_input(fmt::format("cluster '{}': the GPU type after ':' is missing", text));
    }
  }
  return group;
}

}  // namespace

std::string_view to_string(Locality span) {
  switch (span) {
    case Locality::Node:
      return "node";
    case Locality::Rack:
      return "rack";
    case Locality::Across:
      return "across";
  }
  return "?";
}

int Placement::gpus() const {
  int total = 0;
  for (const GpuRange& range : ranges) {
    total += range.count;
  }
  return total;
}

Topology::Topology(std::span<const NodeGroup> groups) {
  std::map<std::pair<std::string, std::size_t>, PoolId> pool_of_kind;
  int rack = 0;
  for (const NodeGroup& group : groups) {
    RUBATO_CHECK(group.nodes > 0 && group.gpus_per_node > 0);
    const auto known = std::ranges::find(regions_, group.region.name, &Region::name);
    const auto region = static_cast<std::size_t>(known - regions_.begin());
    if (known == regions_.end()) {
      regions_.push_back(group.region);
    }
    const auto [entry, is_new] =
        pool_of_kind.try_emplace({group.gpu_type, region}, PoolId{pools_.size()});
    if (is_new) {
      pools_.push_back(Pool{
          .id = entry->second, .gpu_type = group.gpu_type, .region = static_cast<int>(region)});
    }
    Pool& pool = pools_[entry->second.value];
    for (int i = 0; i < group.nodes; ++i) {
      if (i > 0 && group.nodes_per_rack > 0 && i % group.nodes_per_rack == 0) {
        ++rack;
      }
      const NodeId id{nodes_.size()};
      nodes_.push_back(Node{.id = id,
                            .pool = pool.id,
                            .rack = rack,
                            .region = pool.region,
                            .gpus = group.gpus_per_node,
                            .gpus_per_switch = group.gpus_per_switch > 0 ? group.gpus_per_switch
                                                                         : group.gpus_per_node,
                            .first_gpu = pool.gpus});
      pool.nodes.push_back(id);
      pool.gpus += group.gpus_per_node;
      pool.gpus_per_node = std::max(pool.gpus_per_node, group.gpus_per_node);
    }
    ++rack;
  }
}

Result<Topology> Topology::parse(std::string_view text) {
  std::vector<NodeGroup> groups;
  std::int64_t gpus = 0;
  while (true) {
    const std::size_t plus = text.find('+');
    auto group = parse_group(trimmed(text.substr(0, plus)));
    if (!group) {
      return group.error();
    }
    gpus += std::int64_t{group->nodes} * group->gpus_per_node;
    groups.push_back(*group);
    if (plus == std::string_view::npos) {
      break;
    }
    text = text.substr(plus + 1);
  }
  if (gpus > kGpusMax) {
    return bad_input(fmt::format("cluster: {} GPUs are more than {}", gpus, kGpusMax));
  }
  for (const NodeGroup& group : groups) {
    const auto first = std::ranges::find(groups, group.region.name,
                                         [](const NodeGroup& each) { return each.region.name; });
    if (first->region != group.region) {
      return bad_input(fmt::format("cluster: region '{}' has two links", group.region.name));
    }
  }
  return Topology(groups);
}

int Topology::gpus() const {
  int total = 0;
  for (const Pool& pool : pools_) {
    total += pool.gpus;
  }
  return total;
}

Duration Topology::upload_time(PoolId pool, std::string_view from, double gigabytes) const {
  const Region& region = regions_.at(static_cast<std::size_t>(this->pool(pool).region));
  if (region.name == from) {
    return {};
  }
  constexpr double kBitsPerByte = 8;
  const double seconds = region.gbps > 0 ? gigabytes * kBitsPerByte / region.gbps : 0;
  return region.delay + from_seconds_up(seconds);
}

const Node& Topology::node_of(PoolId pool, int gpu) const {
  const std::vector<NodeId>& nodes = this->pool(pool).nodes;
  const auto after = std::ranges::upper_bound(
      nodes, gpu, {}, [this](NodeId id) { return nodes_[id.value].first_gpu; });
  RUBATO_CHECK(after != nodes.begin() && gpu < this->pool(pool).gpus);
  return nodes_[(after - 1)->value];
}

std::vector<NodeShare> Topology::nodes_of(const Placement& placement) const {
  std::vector<NodeShare> shares;
  for (const GpuRange& range : placement.ranges) {
    int gpu = range.first;
    while (gpu < range.first + range.count) {
      const Node& node = node_of(placement.pool, gpu);
      const int end = std::min(range.first + range.count, node.first_gpu + node.gpus);
      if (!shares.empty() && shares.back().node == node.id) {
        shares.back().workers += end - gpu;
      } else {
        shares.push_back({.node = node.id, .workers = end - gpu});
      }
      gpu = end;
    }
  }
  return shares;
}

Locality Topology::span_of(const Placement& placement) const {
  if (placement.ranges.empty()) {
    return Locality::Node;
  }
  const Node& first = node_of(placement.pool, placement.ranges.front().first);
  const GpuRange& end = placement.ranges.back();
  const Node& last = node_of(placement.pool, end.first + end.count - 1);
  if (first.id == last.id) {
    return Locality::Node;
  }
  // Ranges rise and racks are runs of nodes, so the two ends tell for all.
  return first.rack == last.rack ? Locality::Rack : Locality::Across;
}

Locality Topology::narrowest_span(PoolId pool, int gpus) const {
  const Pool& here = this->pool(pool);
  if (gpus <= here.gpus_per_node) {
    return Locality::Node;
  }
  int in_rack = 0;
  int rack = -1;
  for (const NodeId id : here.nodes) {
    const Node& node = nodes_[id.value];
    in_rack = node.rack == rack ? in_rack + node.gpus : node.gpus;
    rack = node.rack;
    if (in_rack >= gpus) {
      return Locality::Rack;
    }
  }
  return Locality::Across;
}

}  // namespace rubato
