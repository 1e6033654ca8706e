#include "rubato/launch/local/pidfd.h"

#include <array>
#include <cstdint>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato {
namespace {

// struct pidfd_info of linux/pidfd.h, first version; newer headers have it, ours do not.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);

constexpr std::uint64_t kInfoExit = 1U << 3U;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

}  // namespace

Descriptor open_pidfd(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool signal_pidfd(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

std::optional<ExitStatus> ended_elsewhere(int pidfd) {
  PidfdInfo info{.mask = kInfoExit};
  if (::ioctl(pidfd, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) {
    return std::nullopt;
  }
  return WIFEXITED(info.exit_code) ? ExitStatus{.code = WEXITSTATUS(info.exit_code)}
                                   : ExitStatus{.signal = WTERMSIG(info.exit_code)};
}

}  // namespace rubato
