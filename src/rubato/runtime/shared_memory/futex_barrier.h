// Where the ranks of one host wait for each other: a barrier in shared memory that any of them can
// break for good.
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato {

/// The barrier's part of the shared memory; all zero before anyone has come.
struct BarrierWords {
  alignas(64) std::atomic<std::uint32_t> arrived;
  // Counts completed barriers in steps of two; odd once broken. It is the one word that is waited
  // on, so neither a completion nor a break can slip in between a look and a wait.
  alignas(64) std::atomic<std::uint32_t> phase;
  std::atomic<std::uint32_t> sleepers;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// One rank's hold on the barrier. A rank that was killed never comes: the others wait until
/// someone breaks the barrier.
class FutexBarrier {
 public:
  /// Spinning is quick if every rank has a processor, and slow if two of them share one.
  FutexBarrier(BarrierWords& words, int size, bool spins)
      : words_(&words), size_(static_cast<std::uint32_t>(size)), spins_(spins) {}

  /// Waits until all ranks have come. False if the barrier was broken first.
  [[nodiscard]] bool wait();

  /// Wakes everyone who waits; later waits fail. From any thread.
  void abort();

  [[nodiscard]] bool is_broken() const;

 private:
  [[nodiscard]] bool wait_for_all();
  [[nodiscard]] bool sleep_until_past(std::uint32_t before);

  BarrierWords* words_;
  std::uint32_t size_;
  bool spins_;
};

}  // namespace rubato
