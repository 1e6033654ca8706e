// What this machine offers to jobs: its GPUs, shares of its processors, or pretended machines.
#pragma once

#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/agent.pb.h"

namespace rubato {

struct OfferRequest {
  std::string name{};      // Of the node; empty: the machine's.
  int slots = 0;           // Zero: one per GPU, or per processor without any.
  std::string emulated{};  // `16x8`; empty: the machine itself.
};

/// Says on standard error what is wrong with GPUs that are left out.
[[nodiscard]] Result<std::vector<wire::AgentNode>> offered_nodes(const OfferRequest& request);

[[nodiscard]] std::string host_name();
/// At least one.
[[nodiscard]] int cpus_here();

}  // namespace rubato
