// Rows of the next batch, handed out in chunks to whichever process has time for them. All state
// lies in shared memory, and a process may be killed at any instruction: a chunk is taken and its
// owner written down by one compare-and-swap, so the leader knows what a dead process held.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/runtime/split/shared_region.h"
#include "rubato/runtime/split/shared_signal.h"

namespace rubato::runtime::split {

/// Chunks of one round.
constexpr std::uint32_t kRowChunksMax = 4096;

/// The part of a row queue that lies in shared memory; all zero before the first round.
struct RowQueueWords {
  // Number of the round in the upper half, the next chunk to look at in the lower. There is work if
  // the lower half is less than `total`, which therefore lies beside it.
  alignas(64) std::atomic<std::uint64_t> ticket;
  std::atomic<std::uint32_t> total;
  // Raised when a chunk is finished.
  SharedSignal finished;
  // Number of the round in the upper half; in the lower the owner, or a state no process id has.
  alignas(64) std::array<std::atomic<std::uint64_t>, kRowChunksMax> chunks;
};

/// A chunk that somebody has taken and not finished.
struct HeldChunk {
  std::uint32_t chunk = 0;
  std::uint32_t owner = 0;
};

/// One process's view of the queue. The leader starts and ends rounds; every process takes chunks,
/// one at a time. Owners are process ids.
class RowQueue {
 public:
  [[nodiscard]] static std::size_t footprint() { return sizeof(RowQueueWords); }
  /// The region must outlive the queue.
  [[nodiscard]] static Result<RowQueue> open(const SharedRegion& region, std::size_t offset);
  explicit RowQueue(RowQueueWords& words) : words_(&words) {}

  /// Leader: hands out chunks 0 to total - 1. False, and nothing changes, if a process still holds
  /// a chunk of the last round: it may be writing rows.
  [[nodiscard]] bool start(std::uint32_t total);
  /// Leader: no more chunks of this round are handed out. Those that are held stay held.
  void stop();

  /// The next chunk, now owned by `owner`; nothing if there is none.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t owner);
  /// Finishes the chunk that was taken last. False if it is no longer the owner's.
  bool done(std::uint32_t chunk, std::uint32_t owner);
  /// The same for a chunk whose rows could not be fetched.
  bool fail(std::uint32_t chunk, std::uint32_t owner);

  /// Leader: waits until all chunks of the round are done, failed or withdrawn by stop(). False if
  /// the time was up before.
  [[nodiscard]] bool wait_all(std::chrono::microseconds timeout) const;
  /// Chunks of this round that are held.
  [[nodiscard]] std::vector<HeldChunk> held() const;
  [[nodiscard]] std::uint32_t failed() const;
  /// Leader: makes the chunks of a dead owner those of `successor`, and tells which they are.
  std::vector<std::uint32_t> reclaim(std::uint32_t owner, std::uint32_t successor);

  [[nodiscard]] bool has_work() const;
  [[nodiscard]] std::uint32_t sequence() const;
  [[nodiscard]] std::uint32_t total() const;
  /// Where `ticket` lies; `total` is the 32-bit word eight bytes behind it.
  [[nodiscard]] const std::atomic<std::uint64_t>* ticket() const { return &words_->ticket; }

 private:
  bool finish(std::uint32_t chunk, std::uint32_t owner, std::uint32_t state);
  [[nodiscard]] bool is_finished() const;

  RowQueueWords* words_;
  // The round of the chunk that this process took last.
  std::uint32_t taken_sequence_ = 0;
};

}  // namespace rubato::runtime::split
