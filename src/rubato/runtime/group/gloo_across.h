// The way across hosts for training programs: memory on each host, gloo among the hosts.
#pragma once

#include <string>

#include "rubato/base/time.h"
#include "rubato/runtime/group/group_builder.h"

namespace rubato {

/// For WorkerSetup::join_remote. The address is this host's, as the others reach it.
[[nodiscard]] RemoteJoin gloo_across(std::string address, Duration patience);

}  // namespace rubato
