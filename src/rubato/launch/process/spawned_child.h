// The child's side of starting a process: what happens between clone and exec.
//
// The child borrows the memory of its parent, which waits, as with vfork: nothing is copied, and
// other threads of the parent do no harm. It may call only what a signal handler may call and must
// not allocate, so all it needs is laid out before.
#pragma once

#include <array>
#include <csignal>
#include <sched.h>
#include <sys/types.h>
#include <vector>

#include "rubato/launch/process/process.h"

namespace rubato {

/// What the child was doing when it failed; in the order in which it does it.
enum class SpawnStep {
  Group,
  Parent,
  Guard,
  Cgroup,
  Limits,
  Cpus,
  Directory,
  Descriptors,
  Execute,
};

[[nodiscard]] const char* name_of(SpawnStep step);

/// All that the child reads, and the two values that it leaves if it fails.
struct SpawnedChild {
  const ProcessSpec* spec = nullptr;
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* shell_argv = nullptr;  // For a script without a first line that names its program.
  char* const* environment = nullptr;
  cpu_set_t cpus{};
  pid_t parent = -1;

  SpawnStep step = SpawnStep::Group;
  int error = 0;
};

/// For clone: takes a SpawnedChild, returns only if it failed.
int run_spawned_child(void* child);

}  // namespace rubato
