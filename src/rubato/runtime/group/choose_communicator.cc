#include "rubato/runtime/group/choose_communicator.h"

#include <set>

namespace rubato {

Result<CommunicatorKind> choose_communicator(const GroupSituation& situation) {
  if (situation.device == GradientDevice::Gpu && situation.has_nccl &&
      !situation.is_deterministic) {
    return CommunicatorKind::Nccl;
  }
  const std::set<int> hosts(situation.hosts.begin(), situation.hosts.end());
  if (hosts.size() <= 1) {
    return CommunicatorKind::Shm;
  }
  if (!situation.has_gloo) {
    return Error{.code = ErrorCode::BadConfig,
                 .message =
                     "workers are on several hosts, but this build has no groups over TCP: "
                     "it needs libtorch and gloo's headers"};
  }
  const bool has_neighbours = hosts.size() < situation.hosts.size();
  return has_neighbours && !situation.is_deterministic ? CommunicatorKind::Hosts
                                                       : CommunicatorKind::Gloo;
}

}  // namespace rubato
