// What an agent can offer: the GPUs of this machine, shares of its CPUs where there are none, or
// nodes that are only pretended.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/launch/environment.h"
#include "rubato/wire/agent.pb.h"

namespace rubato {

/// A GPU as its driver names it.
struct FoundGpu {
  int index = 0;
  std::string name{};    // `NVIDIA A100-SXM4-40GB`.
  std::string memory{};  // `40960 MiB`.
  std::string uuid{};

  friend bool operator==(const FoundGpu&, const FoundGpu&) = default;
};

/// The GPUs that work, and what is wrong with the others.
struct GpuListing {
  std::vector<FoundGpu> gpus{};
  std::vector<std::string> notes{};
};

/// From what `nvidia-smi --query-gpu=index,name,memory.total,uuid --format=csv,noheader` says.
[[nodiscard]] GpuListing parse_gpus(std::string_view text);

/// Asks nvidia-smi. NotFound if the machine has none; any other error says what went wrong with it.
[[nodiscard]] Result<GpuListing> list_gpus(const Environment& environment,
                                           Duration patience = std::chrono::seconds(20));

/// `NVIDIA A100-SXM4-40GB` is an `a100`, `NVIDIA GeForce RTX 3090` an `rtx-3090`.
[[nodiscard]] std::string gpu_type_of(std::string_view name);

/// One slot per GPU.
[[nodiscard]] wire::AgentNode gpu_node(const std::string& name, const GpuListing& listing);
/// So many shares of the CPUs.
[[nodiscard]] wire::AgentNode cpu_node(const std::string& name, int slots);
/// `16x8`: sixteen nodes of eight slots each, named `emulated-01` and so on.
[[nodiscard]] Result<std::vector<wire::AgentNode>> emulated_nodes(std::string_view text);

}  // namespace rubato
