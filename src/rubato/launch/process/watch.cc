#include "rubato/launch/process/watch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <fmt/format.h>

namespace rubato {
namespace {

void control(int epoll, int operation, int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  ::epoll_ctl(epoll, operation, descriptor, &event);
}

}  // namespace

Result<Watch> Watch::open() {
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll.is_open() || !timer.is_open()) {
    return Error{.code = ErrorCode::Io,
                 .message = fmt::format("cannot watch descriptors: {}", std::strerror(errno))};
  }
  Watch watch(std::move(epoll), std::move(timer));
  watch.add(watch.timer_.get());
  return watch;
}

void Watch::add(int descriptor) { control(epoll_.get(), EPOLL_CTL_ADD, descriptor, EPOLLIN); }

void Watch::remove(int descriptor) { control(epoll_.get(), EPOLL_CTL_DEL, descriptor, 0); }

void Watch::add_writable(int descriptor) {
  control(epoll_.get(), EPOLL_CTL_ADD, descriptor, EPOLLOUT);
}

void Watch::wake_in(std::chrono::nanoseconds time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  // Zero would mean never.
  const auto rest = std::max(time - whole, std::chrono::nanoseconds{1});
  const itimerspec when{.it_interval = {}, .it_value = {whole.count(), rest.count()}};
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Watch::hush() {
  const itimerspec never{};
  ::timerfd_settime(timer_.get(), 0, &never, nullptr);
}

}  // namespace rubato
