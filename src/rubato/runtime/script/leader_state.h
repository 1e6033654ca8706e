// What the script's thread and the thread of its connection share without locks, so that a question
// costs the script next to nothing, and so that a copy of the process made by fork can go on with
// it whatever the other thread was doing at that moment.
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::runtime::script {

/// Wanted by the other side: so many workers, by the order with this number.
struct WantedWorkers {
  std::uint64_t order = 0;
  std::uint32_t workers = 1;
};

/// Where a leader stands, and what is wanted of it.
class LeaderState {
 public:
  // Written by the connection.
  void want(const WantedWorkers& wanted) {
    wanted_ = (wanted.order << kWorkerBits) | (wanted.workers & kWorkerMask);
  }
  [[nodiscard]] WantedWorkers wanted() const {
    const std::uint64_t both = wanted_.load(std::memory_order_relaxed);
    return {.order = both >> kWorkerBits,
            .workers = static_cast<std::uint32_t>(both & kWorkerMask)};
  }
  std::atomic<bool> wants_snapshot = false;
  std::atomic<bool> wants_suspend = false;

  // Written by the script.
  std::atomic<std::uint64_t> step = 0;   // Committed.
  std::atomic<std::uint64_t> epoch = 0;  // Of the last report.
  std::atomic<double> loss = 0;
  std::atomic<bool> has_loss = false;
  // By both: the leader and the replicas that live.
  std::atomic<std::uint32_t> computing = 1;

 private:
  static constexpr unsigned kWorkerBits = 16;
  static constexpr std::uint64_t kWorkerMask = (std::uint64_t{1} << kWorkerBits) - 1;

  std::atomic<std::uint64_t> wanted_ = 1;  // Number of the order, then of workers.
};

}  // namespace rubato::runtime::script
