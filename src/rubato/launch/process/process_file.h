// What the kernel tells of a process in /proc. The process may end while it is read, and a file
// stream throws then.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace rubato {

/// The content of /proc/PID/NAME; empty if there is no such process, or it is not ours to see.
[[nodiscard]] std::string process_file(pid_t pid, std::string_view name);

}  // namespace rubato
