// Processes of a job whose conductor was killed. Most end by themselves, or by the launcher's
// guard; slots are free only when the last has.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace rubato {

/// Processes that were started with RUBATO_JOB_DIRECTORY as this directory.
[[nodiscard]] std::vector<pid_t> processes_of_job(const std::string& directory);

/// Kills them; true if there are none left. To be called again otherwise.
[[nodiscard]] bool end_leftovers(const std::string& directory);

}  // namespace rubato
