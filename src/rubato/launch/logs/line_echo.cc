#include "rubato/launch/logs/line_echo.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace rubato {
namespace {

bool is_writable(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&watched, 1, 0) == 1 && (watched.revents & (POLLOUT | POLLERR)) != 0;
}

}  // namespace

void LineEcho::write(std::string_view prefix, std::string_view line) {
  flush();
  if (waiting_.size() + prefix.size() + line.size() > waiting_max_) {
    ++lines_lost_;
    return;
  }
  if (lines_lost_ > 0) {
    waiting_ += fmt::format("[rubato] {} lines are not shown here: nobody read them\n",
                            std::exchange(lines_lost_, 0));
  }
  waiting_ += prefix;
  waiting_ += line;
  flush();
}

// The descriptor is shared with other programs, so it cannot be made non-blocking; but a pipe or a
// terminal that is writable takes this many bytes at once.
void LineEcho::flush() {
  std::size_t done = 0;
  while (done < waiting_.size() && is_writable(descriptor_)) {
    const ssize_t sent = ::write(descriptor_, waiting_.data() + done,
                                 std::min<std::size_t>(waiting_.size() - done, PIPE_BUF));
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno != EINTR && errno != EAGAIN) {
      done = waiting_.size();  // Nobody will ever read it.
    }
  }
  waiting_.erase(0, done);
}

}  // namespace rubato
