#include "rubato/cli/platform/offered_nodes.h"

#include <algorithm>
#include <array>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

#include "rubato/live/agent/slots.h"

namespace rubato {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

int cpus_here() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

Result<std::vector<wire::AgentNode>> offered_nodes(const OfferRequest& request) {
  if (!request.emulated.empty()) {
    return emulated_nodes(request.emulated);
  }
  const std::string name = request.name.empty() ? host_name() : request.name;
  if (request.slots > 0) {
    return std::vector{cpu_node(name, request.slots)};
  }
  const auto gpus = list_gpus(inherited_environment());
  if (!gpus && gpus.error().code != ErrorCode::NotFound) {
    return gpus.error();
  }
  if (!gpus || gpus->gpus.empty()) {
    return std::vector{cpu_node(name, cpus_here())};
  }
  for (const std::string& note : gpus->notes) {
    fmt::print(stderr, "rubato: {}\n", note);
  }
  return std::vector{gpu_node(name, *gpus)};
}

}  // namespace rubato
