// A descriptor that stands for a process: unlike its number, it never comes to mean another one.
//
// The C library of Debian 12 declares these calls in a way that C++ cannot link.
#pragma once

#include <optional>
#include <sys/types.h>

#include "rubato/launch/exit_status.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// Not open if there is no such process.
[[nodiscard]] Descriptor open_pidfd(pid_t pid);

/// True if the signal was sent.
bool signal_pidfd(int pidfd, int signal);

/// How a process that is not our child ended: seen on its zombie, or, once someone has waited for
/// it, told by kernels from 6.15 on. Nothing while it lives, or if neither can be had.
[[nodiscard]] std::optional<ExitStatus> ended_elsewhere(int pidfd, pid_t pid);

}  // namespace rubato
