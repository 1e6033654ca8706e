// Which kind of group fits a job: a rule, not a search.
#pragma once

#include <cstddef>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

enum class GradientDevice { Cpu, Gpu };

enum class CommunicatorKind {
  Shm,    // One host.
  Gloo,   // All ranks over TCP.
  Hosts,  // Shared memory on each host, TCP among hosts.
  Nccl,
};

/// What the choice depends on.
struct GroupSituation {
  GradientDevice device = GradientDevice::Cpu;
  bool has_nccl = false;
  bool has_gloo = false;
  bool is_deterministic = false;
  std::vector<int> hosts{};  // By rank: which host it is on, as any number.
};

/// NCCL adds in an order of its own, so in deterministic mode gradients of GPUs go through host
/// memory like those of CPUs, as they do if NCCL is missing. Fails if no kind can join the hosts.
[[nodiscard]] Result<CommunicatorKind> choose_communicator(const GroupSituation& situation);

}  // namespace rubato
