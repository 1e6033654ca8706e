// What a live platform is set up with; journalled once, so that a restart makes the same again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/time.h"

namespace rubato {

/// One machine, or one pretended machine, and its slots. A job stays with one agent.
struct LiveNode {
  std::string name{};
  std::string agent{};
  std::string gpu_type{};
  int slots = 1;

  friend bool operator==(const LiveNode&, const LiveNode&) = default;
};

struct ControllerOptions {
  std::string policy = "elasticflow";
  std::vector<LiveNode> nodes{};  // Down until their agent says hello.
  Duration slot = std::chrono::seconds(1);
  Duration resize_pause = std::chrono::milliseconds(500);  // Planned for each change of workers.
  // Real steps are never quite as long as measured ones: plans end this part of the time earlier
  // than was promised, and at least so long.
  double margin = 0.05;
  Duration margin_min = std::chrono::seconds(2);
  double firm_quotes = 0;  // As in EngineOptions.
  std::uint64_t seed = 1;

  friend bool operator==(const ControllerOptions&, const ControllerOptions&) = default;
};

}  // namespace rubato
