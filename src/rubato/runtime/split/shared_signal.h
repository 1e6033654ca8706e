// How processes wait for each other in shared memory: a short spin, then a futex. Nothing here
// depends on the other side being alive: a wait for a killed process ends by its timeout.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace rubato::runtime::split {

/// Waiters of one signal; each has a number below this.
constexpr unsigned kWaitersMax = 64;

/// A word that is waited on, all zero at first. One bit for each waiter says that it sleeps, so a
/// waiter that was killed asleep costs needless wake-ups until its successor has slept once, and
/// nothing else.
struct SharedSignal {
  alignas(64) std::atomic<std::uint32_t> raised;
  alignas(64) std::atomic<std::uint64_t> sleepers;

  void reset();
  /// Makes all waiters look again. Call it after the change that they wait for.
  void raise();
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// How long to wait. Spinning is quick if every process has a processor, and slow if two share one.
struct WaitTimes {
  std::chrono::microseconds spin{50};
  std::chrono::microseconds timeout{0};
};

/// Waits until `is_ready` holds. False if the time was up before, or a signal handler ran: then the
/// caller may want to look after that signal before it waits again.
[[nodiscard]] bool wait_for(SharedSignal& signal, unsigned waiter, const WaitTimes& times,
                            const std::function<bool()>& is_ready);

}  // namespace rubato::runtime::split
