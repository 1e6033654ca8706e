#include "rubato/launch/process/pidfd.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/parse.h"
#include "rubato/launch/process/process_file.h"

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

ExitStatus status_of(int wait_status) {
  return WIFEXITED(wait_status) ? ExitStatus{.code = WEXITSTATUS(wait_status)}
                                : ExitStatus{.signal = WTERMSIG(wait_status)};
}

// The last field of its line in /proc, which is there for as long as nobody has waited for it.
std::optional<ExitStatus> seen_on_zombie(int pidfd, pid_t pid) {
  const std::string text = process_file(pid, "stat");
  const std::size_t state = text.rfind(") ");
  const std::size_t last = text.find_last_of(' ');
  // If it can still be signalled, the number was its own when we read.
  if (state == std::string::npos || text[state + 2] != 'Z' || !signal_pidfd(pidfd, 0)) {
    return std::nullopt;
  }
  const auto code = parse_int(trimmed(std::string_view(text).substr(last + 1)));
  return code ? std::optional(status_of(static_cast<int>(*code))) : std::nullopt;
}

}  // namespace

Descriptor open_pidfd(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool signal_pidfd(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

std::optional<ExitStatus> ended_elsewhere(int pidfd, pid_t pid) {
  if (const auto seen = seen_on_zombie(pidfd, pid)) {
    return seen;
  }
  PidfdInfo info{.mask = kInfoExit};
  if (::ioctl(pidfd, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) {
    return std::nullopt;
  }
  return status_of(info.exit_code);
}

}  // namespace rubato
