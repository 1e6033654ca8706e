// Where a worker finds the conductor of its job, as its environment tells it.
#pragma once

#include <cstdint>
#include <string>

#include "rubato/base/result.h"

namespace rubato {

/// How a worker was started.
struct WorkerAddress {
  std::string socket{};  // Empty: no conductor, the worker trains alone.
  std::uint64_t worker = 0;
  std::uint64_t token = 0;
  std::string host{};
};

/// Reads RUBATO_CONDUCTOR, RUBATO_WORKER, RUBATO_TOKEN and RUBATO_HOST.
[[nodiscard]] Result<WorkerAddress> worker_address();

}  // namespace rubato
