#include "rubato/runtime/split/shared_signal.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#include "rubato/base/check.h"

namespace rubato::runtime::split {
namespace {

using Clock = std::chrono::steady_clock;

// Looks between two glances at the clock. After each of these rounds the processor is offered to
// others: the scheduler may have put the process that we wait for on this very one.
constexpr int kLooksAtOnce = 32;
// A single sleep, so that a time far away does not overflow.
constexpr std::chrono::microseconds kSleepMax = std::chrono::hours(1);

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Sleeps unless the word has moved. False if a signal handler ran. Not the private kind of futex:
/// it must work between processes.
bool futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                 std::chrono::microseconds time) {
  const timespec limit{.tv_sec = time.count() / 1'000'000,
                       .tv_nsec = time.count() % 1'000'000 * 1000};
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0) == 0 ||
         errno != EINTR;
}

}  // namespace

void SharedSignal::reset() {
  raised.store(0);
  sleepers.store(0);
}

void SharedSignal::raise() {
  // Whoever sleeps says so first and then looks at the word; we do the reverse. So either the
  // sleeper is seen here, or the kernel finds the word moved and does not let it sleep.
  raised.fetch_add(1);
  if (sleepers.load() != 0) {
    ::syscall(SYS_futex, &raised, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

bool wait_for(SharedSignal& signal, unsigned waiter, const WaitTimes& times,
              const std::function<bool()>& is_ready) {
  RUBATO_CHECK(waiter < kWaitersMax);
  if (is_ready()) {
    return true;
  }
  const Clock::time_point begin = Clock::now();
  const Clock::time_point spin_end = begin + std::min(times.spin, times.timeout);
  while (Clock::now() < spin_end) {
    for (int look = 0; look < kLooksAtOnce; ++look) {
      pause_briefly();
      if (is_ready()) {
        return true;
      }
    }
    ::sched_yield();
  }
  const std::uint64_t bit = std::uint64_t{1} << waiter;
  signal.sleepers.fetch_or(bit);
  bool is_there = false;
  bool is_undisturbed = true;
  while (is_undisturbed) {
    const std::uint32_t before = signal.raised.load();
    is_there = is_ready();
    const auto slept = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    if (is_there || slept >= times.timeout) {
      break;
    }
    is_undisturbed = futex_sleep(signal.raised, before, std::min(times.timeout - slept, kSleepMax));
  }
  signal.sleepers.fetch_and(~bit);
  return is_there || is_ready();
}

}  // namespace rubato::runtime::split
