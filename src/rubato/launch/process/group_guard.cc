#include "rubato/launch/process/group_guard.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

// Reads `+ 12` and `- 12`; at the end of input kills what is left.
constexpr const char* kShell = R"(trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in
         *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
       esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
)";

// Not fmt: this also runs between clone and exec, where nothing may be allocated.
bool tell(int guard, char sign, pid_t group) {
  std::array<char, 16> text{};
  std::size_t at = text.size();
  text[--at] = '\n';
  for (pid_t rest = group; rest > 0; rest /= 10) {
    text[--at] = static_cast<char>('0' + rest % 10);
  }
  text[--at] = ' ';
  text[--at] = sign;
  const std::size_t length = text.size() - at;
  return ::send(guard, text.data() + at, length, MSG_NOSIGNAL) == static_cast<ssize_t>(length);
}

}  // namespace

Result<GroupGuard> GroupGuard::start() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("no socket for the guard: {}", std::strerror(errno))};
  }
  Descriptor ours(sockets[0]);
  const Descriptor theirs(sockets[1]);
  // Whoever reads our output must not wait for the guard to close it.
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  auto shell = Process::start({.argv = {"/bin/sh", "-c", kShell},
                               .directory = "/",
                               .input = theirs.get(),
                               .output = nowhere.get(),
                               .errors = nowhere.get(),
                               .group = ProcessGroup::OwnSession});
  if (!shell) {
    return shell.error();
  }
  return GroupGuard(std::move(ours), std::move(*shell));
}

bool GroupGuard::watch(int guard, pid_t group) { return tell(guard, '+', group); }

bool GroupGuard::forget(int guard, pid_t group) { return tell(guard, '-', group); }

}  // namespace rubato
