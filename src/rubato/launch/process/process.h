// A process that we started: it can be watched with poll, signalled without hitting a stranger that
// got its number, and is never left behind.
#pragma once

#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/launch/environment.h"
#include "rubato/launch/exit_status.h"
#include "rubato/wire/descriptor.h"

namespace rubato {

/// One limit of the kernel on a process, as setrlimit takes it.
struct ResourceLimit {
  int resource = RLIMIT_CORE;
  rlim_t soft = 0;
  rlim_t hard = 0;
};

enum class ProcessGroup {
  Ours,        // Gets what the terminal sends us, for example on Ctrl-C.
  Own,         // Alone in a new group, with what it starts itself.
  OwnSession,  // Likewise, and the kernel gives each session its own part of the CPU.
};

/// How to start a process. Descriptors are lent for the call.
struct ProcessSpec {
  std::vector<std::string> argv{};
  Environment environment{};
  std::string directory{};  // Empty: where we are.
  int input = -1;           // -1: an empty input.
  int output = -1;          // -1: ours.
  int errors = -1;          // -1: ours.
  std::vector<int> kept{};  // Stay open under the same number; every other one is closed.
  ProcessGroup group = ProcessGroup::Own;
  // The kernel ends the process with the thread that started it, so start it from one that lives as
  // long as the program. The processes it starts itself are not ended: see group_guard.h.
  bool dies_with_parent = false;
  std::vector<ResourceLimit> limits{};
  std::vector<int> cpus{};  // Empty: all that we may use.
  // Weights are wishes: without permission the process starts with ours.
  std::optional<int> nice{};          // Against the others of its session.
  std::optional<int> session_nice{};  // Of its session against the others, if it has its own.
  int guard = -1;                     // The descriptor of a GroupGuard.
  int cgroup = -1;                    // An open cgroup.procs that it moves itself to.
};

/// Our child. Ended with its whole group when this object goes, unless released.
class Process {
 public:
  /// Returns when the program runs. Safe in a process that has threads.
  [[nodiscard]] static Result<Process> start(const ProcessSpec& spec);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once the process has ended.
  [[nodiscard]] int descriptor() const { return pidfd_.get(); }

  /// How it ended; nothing while it runs. What it started itself and left in its group ends too.
  [[nodiscard]] std::optional<ExitStatus> poll_exit();
  /// True if the signal was sent; false once the process has ended.
  bool signal(int signal);
  /// To all of its group; to the process alone if it shares ours.
  bool signal_group(int signal);
  /// Ends it, if it still runs, and all of its group. Leaves no zombie.
  ExitStatus kill_and_reap();
  /// Lets it live on its own; someone else must wait for it.
  void release();

 private:
  Process(pid_t pid, Descriptor pidfd, bool leads_group, Descriptor guard)
      : pid_(pid), pidfd_(std::move(pidfd)), guard_(std::move(guard)), leads_group_(leads_group) {}

  [[nodiscard]] std::optional<ExitStatus> wait(int options);

  pid_t pid_ = -1;
  Descriptor pidfd_{};
  Descriptor guard_{};
  bool leads_group_ = false;
  bool is_ours_ = true;  // Neither reaped nor released.
  ExitStatus status_{};  // Once reaped.
};

}  // namespace rubato
