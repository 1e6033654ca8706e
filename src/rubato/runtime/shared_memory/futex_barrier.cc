#include "rubato/runtime/shared_memory/futex_barrier.h"

#include <climits>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#if defined(RUBATO_THREAD_SANITIZER)
extern "C" void __tsan_release(void*);  // NOLINT: a name of the sanitizer
extern "C" void __tsan_acquire(void*);  // NOLINT
#endif

namespace rubato {
namespace {

#if defined(RUBATO_THREAD_SANITIZER)
// Ranks that are threads of one process, as in tests, map the barrier at addresses of their own, so
// the thread sanitizer does not see that they meet. It is told so, by one address for all barriers.
char meeting_of_all_ranks = 0;
void tell_arrival() { __tsan_release(&meeting_of_all_ranks); }
void tell_departure() { __tsan_acquire(&meeting_of_all_ranks); }
#else
void tell_arrival() {}
void tell_departure() {}
#endif

constexpr std::uint32_t kBroken = 1;
constexpr std::uint32_t kPhase = 2;
// Looks before sleeping. After every few, the processor is offered to others: the scheduler may
// have put the rank that we wait for on this very one.
constexpr int kSpins = 2000;
constexpr int kSpinsBetweenYields = 32;

/// Tells the processor that we wait for another one.
void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// The futex calls work between processes, so they must not be the private kind. What they return
/// does not matter: whoever waits looks again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// True if the barrier that opened at `before` is complete; a break since then does not matter.
bool is_past(std::uint32_t phase, std::uint32_t before) { return (phase & ~kBroken) != before; }

}  // namespace

bool FutexBarrier::wait() {
  tell_arrival();
  const bool is_complete = wait_for_all();
  tell_departure();
  return is_complete;
}

bool FutexBarrier::wait_for_all() {
  const std::uint32_t before = words_->phase.load(std::memory_order_acquire);
  if ((before & kBroken) != 0) {
    return false;
  }
  if (words_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    // Nobody comes again before the phase has moved, so the count can be set back first.
    words_->arrived.store(0, std::memory_order_relaxed);
    // Whoever waits may have left because of a break: then nobody has passed, and neither have we.
    std::uint32_t expected = before;
    if (!words_->phase.compare_exchange_strong(expected, before + kPhase)) {
      return false;
    }
    if (words_->sleepers.load() != 0) {
      futex_wake_all(words_->phase);
    }
    return true;
  }
  for (int spin = 0; spins_ && spin < kSpins; ++spin) {
    const std::uint32_t now = words_->phase.load(std::memory_order_acquire);
    if (now != before) {
      return is_past(now, before);
    }
    if (spin % kSpinsBetweenYields == kSpinsBetweenYields - 1) {
      sched_yield();
    } else {
      pause_briefly();
    }
  }
  return sleep_until_past(before);
}

bool FutexBarrier::sleep_until_past(std::uint32_t before) {
  // Whoever completes the phase moves it first and then looks for sleepers; we do the reverse. So
  // either we are seen and woken, or the kernel finds the phase moved and does not let us sleep.
  words_->sleepers.fetch_add(1);
  std::uint32_t now = words_->phase.load();
  while (now == before) {
    futex_wait(words_->phase, before);
    now = words_->phase.load();
  }
  words_->sleepers.fetch_sub(1);
  return is_past(now, before);
}

void FutexBarrier::abort() {
  words_->phase.fetch_or(kBroken);
  futex_wake_all(words_->phase);
}

bool FutexBarrier::is_broken() const {
  return (words_->phase.load(std::memory_order_acquire) & kBroken) != 0;
}

}  // namespace rubato
