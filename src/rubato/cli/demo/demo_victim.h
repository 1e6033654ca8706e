// Processes of a job, as the demonstration kills and counts them.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "rubato/wire/platform.pb.h"

namespace rubato {

/// The worker of a job that has computed most; those that only wait have not. `directory` is the
/// job's.
[[nodiscard]] std::optional<pid_t> busiest_worker(const std::string& directory,
                                                  const wire::JobSpec& spec);

/// Processes of all jobs below `jobs`, those that conduct them included.
[[nodiscard]] int processes_below(const std::string& jobs);

/// Kills them.
void kill_below(const std::string& jobs);

}  // namespace rubato
