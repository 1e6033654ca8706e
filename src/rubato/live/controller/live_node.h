// A node of the live platform as the controller knows it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/topology.h"
#include "rubato/live/controller/controller_options.h"

namespace rubato {

inline constexpr int kLiveNodesMax = 10'000;
inline constexpr int kSlotsOfALiveNodeMax = 1'024;

/// When a node is not to be used.
struct ClosedTime {
  Instant from{};
  Instant to{};
};

struct NodeRecord {
  LiveNode node{};
  bool is_attached = false;
  bool is_draining = false;
  bool is_emulated = false;
  bool is_up = false;  // As the engine was told.
  std::vector<std::string> devices{};
  std::vector<ClosedTime> maintenance{};

  /// It may be given to jobs.
  [[nodiscard]] bool is_usable(Instant now) const {
    for (const ClosedTime& window : maintenance) {
      if (window.from <= now && now < window.to) {
        return false;
      }
    }
    return is_attached && !is_draining;
  }
};

/// A job runs within one agent's nodes, so each agent is a region.
[[nodiscard]] Topology topology_of(std::span<const NodeRecord> nodes);

}  // namespace rubato
