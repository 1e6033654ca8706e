#include "rubato/launch/process/spawned_child.h"

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>

#include "rubato/launch/process/group_guard.h"

namespace rubato {
namespace {

// Above the three standard ones, so that moving one there never closes another.
constexpr int kFirstFree = 3;

// The parent's handlers are functions that will not exist after exec, and what it ignores is its
// own affair.
void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction fresh {};
    fresh.sa_handler = SIG_DFL;  // NOLINT: a union of the system
    ::sigaction(signal, &fresh, nullptr);
  }
}

bool join_group(ProcessGroup group) {
  switch (group) {
    case ProcessGroup::Ours:
      return true;
    case ProcessGroup::Own:
      return ::setpgid(0, 0) == 0;
    case ProcessGroup::OwnSession:
      return ::setsid() >= 0;
  }
  return false;
}

// The parent may have died before the kernel knew that we want to hear of it; then we have been
// handed to another parent already, and nobody will tell us any more.
bool follow_parent(const SpawnedChild& child) {
  if (!child.spec->dies_with_parent) {
    return true;
  }
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == child.parent;
}

bool write_all(int file, std::string_view text) {
  return ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool apply_limits(const ProcessSpec& spec) {
  for (const ResourceLimit& limit : spec.limits) {
    const rlimit values{.rlim_cur = limit.soft, .rlim_max = limit.hard};
    // The C library's type of the first argument is an enumeration in C++.
    if (::setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &values) != 0) {
      return false;
    }
  }
  return true;
}

// Wishes: without permission nothing changes.
void apply_weights(const ProcessSpec& spec) {
  if (spec.nice) {
    ::setpriority(PRIO_PROCESS, 0, *spec.nice);
  }
  if (!spec.session_nice || spec.group != ProcessGroup::OwnSession) {
    return;
  }
  const int file = ::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    std::array<char, 4> text{};
    std::size_t length = 0;
    const int value = *spec.session_nice;
    if (value < 0) {
      text[length++] = '-';
    }
    const int size = (value < 0 ? -value : value) % 100;
    text[length++] = static_cast<char>('0' + size / 10);
    text[length++] = static_cast<char>('0' + size % 10);
    write_all(file, {text.data(), length});
    ::close(file);
  }
}

// Two steps, because a source may have the number of another one's target.
bool place_descriptors(const ProcessSpec& spec) {
  const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::array<int, 3> sources{spec.input < 0 ? empty : spec.input,
                             spec.output < 0 ? STDOUT_FILENO : spec.output,
                             spec.errors < 0 ? STDERR_FILENO : spec.errors};
  for (int& source : sources) {
    source = ::fcntl(source, F_DUPFD_CLOEXEC, kFirstFree);
    if (source < 0) {
      return false;
    }
  }
  for (int target = 0; target < kFirstFree; ++target) {
    if (::dup2(sources[static_cast<std::size_t>(target)], target) < 0) {
      return false;
    }
  }
  // Whoever opened a descriptor without thinking of exec did not mean to lend it to a stranger.
  if (::close_range(kFirstFree, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    return false;
  }
  for (const int kept : spec.kept) {
    if (::fcntl(kept, F_SETFD, 0) != 0) {
      return false;
    }
  }
  return true;
}

void execute(const SpawnedChild& child) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(child.path, child.argv, child.environment);
  if (errno == ENOEXEC) {
    ::execve("/bin/sh", child.shell_argv, child.environment);
  }
}

// Does one step; false, with errno, if it failed. The last one returns only then.
bool take(SpawnStep step, SpawnedChild& child) {
  const ProcessSpec& spec = *child.spec;
  switch (step) {
    case SpawnStep::Group:
      return join_group(spec.group);
    case SpawnStep::Parent:
      return follow_parent(child);
    case SpawnStep::Guard:
      // A guard that was killed guards nothing; that is no reason not to train.
      if (spec.guard >= 0 && spec.group != ProcessGroup::Ours) {
        GroupGuard::watch(spec.guard, ::getpid());
      }
      return true;
    case SpawnStep::Cgroup:
      return spec.cgroup < 0 || write_all(spec.cgroup, "0");
    case SpawnStep::Limits:
      apply_weights(spec);
      return apply_limits(spec);
    case SpawnStep::Cpus:
      return spec.cpus.empty() || ::sched_setaffinity(0, sizeof(child.cpus), &child.cpus) == 0;
    case SpawnStep::Directory:
      return spec.directory.empty() || ::chdir(spec.directory.c_str()) == 0;
    case SpawnStep::Descriptors:
      return place_descriptors(spec);
    case SpawnStep::Execute:
      execute(child);
      return false;
  }
  return false;
}

}  // namespace

const char* name_of(SpawnStep step) {
  switch (step) {
    case SpawnStep::Group:
      return "a group of its own";
    case SpawnStep::Parent:
      return "the death signal of its parent";
    case SpawnStep::Guard:
      return "its group guard";
    case SpawnStep::Cgroup:
      return "its cgroup";
    case SpawnStep::Limits:
      return "its limits";
    case SpawnStep::Cpus:
      return "its CPUs";
    case SpawnStep::Directory:
      return "its directory";
    case SpawnStep::Descriptors:
      return "its input and output";
    case SpawnStep::Execute:
      return "its program";
  }
  return "";
}

int run_spawned_child(void* argument) {
  SpawnedChild& child = *static_cast<SpawnedChild*>(argument);
  reset_signals();
  for (int step = 0; step <= static_cast<int>(SpawnStep::Execute); ++step) {
    child.step = static_cast<SpawnStep>(step);
    if (!take(child.step, child)) {
      break;
    }
  }
  child.error = errno;
  ::_exit(127);
}

}  // namespace rubato
