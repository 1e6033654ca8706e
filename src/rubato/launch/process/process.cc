#include "rubato/launch/process/process.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/process/borrowing_clone.h"
#include "rubato/launch/process/group_guard.h"
#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/process/program_path.h"
#include "rubato/launch/process/spawned_child.h"

namespace rubato {
namespace {

// The child needs little: its own calls are shallow.
constexpr std::size_t kStackBytes = std::size_t{64} << 10U;

// Pointers to the texts, and the null that ends them.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  return list;
}

// While it lives no signal reaches this thread, so no handler runs in the borrowed memory.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

Result<cpu_set_t> cpu_set(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
      return bad_input(fmt::format("there is no CPU {}", cpu));
    }
    CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  return set;
}

Status check(const ProcessSpec& spec) {
  if (spec.argv.empty()) {
    return bad_input("a command without a program");
  }
  const auto has_zero = [](const std::string& text) {
    return text.find('\0') != std::string::npos;
  };
  for (const std::string& word : spec.argv) {
    if (has_zero(word)) {
      return bad_input("an argument with a zero byte in it");
    }
  }
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_zero(name) || has_zero(value)) {
      return bad_input(fmt::format("'{}' cannot be set in an environment", name));
    }
  }
  return ok_status();
}

// Clones; returns when the child has called exec or ended. The descriptor comes from the same call,
// so it cannot be that of a later process with the same number.
std::pair<pid_t, Descriptor> clone_child(SpawnedChild& child) {
  std::vector<std::byte> stack(kStackBytes);
  int pidfd = -1;
  const SignalsHeld held;
  const pid_t pid = borrowing_clone(run_spawned_child, stack.data() + stack.size(),
                                    CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &child, &pidfd);
  return {pid, Descriptor(pid < 0 ? -1 : pidfd)};
}

Error cannot_start(const ProcessSpec& spec, const char* what, int error) {
  return Error{.code = error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
               .message = fmt::format("cannot start {}: {}: {}", spec.argv.front(), what,
                                      std::strerror(error))};
}

}  // namespace

Result<Process> Process::start(const ProcessSpec& spec) {
  if (Status status = check(spec); !status) {
    return status.error();
  }
  const auto path = program_path(spec.argv.front(), spec.environment, spec.directory);
  if (!path) {
    return path.error();
  }
  const auto cpus = cpu_set(spec.cpus);
  if (!cpus) {
    return cpus.error();
  }
  std::vector<std::string> argv = spec.argv;
  std::vector<std::string> shell{"/bin/sh", *path};
  shell.insert(shell.end(), argv.begin() + 1, argv.end());
  std::vector<std::string> environment = assignments(spec.environment);
  const std::vector<char*> argv_pointers = pointers(argv);
  const std::vector<char*> shell_pointers = pointers(shell);
  const std::vector<char*> environment_pointers = pointers(environment);
  Descriptor guard(spec.guard < 0 || spec.group == ProcessGroup::Ours
                       ? -1
                       : ::fcntl(spec.guard, F_DUPFD_CLOEXEC, 0));
  SpawnedChild child{.spec = &spec,
                     .path = path->c_str(),
                     .argv = argv_pointers.data(),
                     .shell_argv = shell_pointers.data(),
                     .environment = environment_pointers.data(),
                     .cpus = *cpus,
                     .parent = ::getpid()};
  auto [pid, pidfd] = clone_child(child);
  if (pid < 0) {
    return cannot_start(spec, "no new process", errno);
  }
  Process process(pid, std::move(pidfd), spec.group != ProcessGroup::Ours, std::move(guard));
  if (child.error != 0) {
    process.kill_and_reap();
    return cannot_start(spec, name_of(child.step), child.error);
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      guard_(std::move(other.guard_)),
      leads_group_(other.leads_group_),
      is_ours_(std::exchange(other.is_ours_, false)),
      status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(guard_, other.guard_);
  std::swap(leads_group_, other.leads_group_);
  std::swap(is_ours_, other.is_ours_);
  std::swap(status_, other.status_);
  return *this;
}

Process::~Process() {
  if (is_ours_) {
    kill_and_reap();
  }
}

// Until it is reaped, the number of the process, which is that of its group, belongs to nobody
// else: what remains of the group is ended, and the guard told, before that.
std::optional<ExitStatus> Process::wait(int options) {
  if (!is_ours_) {
    return status_;
  }
  const auto id = static_cast<id_t>(pidfd_.get());
  siginfo_t info{};
  while (::waitid(P_PIDFD, id, &info, WEXITED | WNOWAIT | options) != 0) {
    RUBATO_CHECK(errno == EINTR);
  }
  if (info.si_pid == 0) {
    return std::nullopt;
  }
  if (leads_group_) {
    ::kill(-pid_, SIGKILL);
  }
  if (guard_.is_open()) {
    GroupGuard::forget(guard_.get(), pid_);
  }
  while (::waitid(P_PIDFD, id, &info, WEXITED) != 0) {
    RUBATO_CHECK(errno == EINTR);
  }
  is_ours_ = false;
  status_ = info.si_code == CLD_EXITED ? ExitStatus{.code = info.si_status}
                                       : ExitStatus{.signal = info.si_status};
  return status_;
}

std::optional<ExitStatus> Process::poll_exit() { return wait(WNOHANG); }

bool Process::signal(int signal) { return is_ours_ && signal_pidfd(pidfd_.get(), signal); }

bool Process::signal_group(int signal) {
  return leads_group_ ? is_ours_ && ::kill(-pid_, signal) == 0 : this->signal(signal);
}

ExitStatus Process::kill_and_reap() {
  signal_group(SIGKILL);
  signal(SIGKILL);
  return *wait(0);
}

void Process::release() { is_ours_ = false; }

}  // namespace rubato
