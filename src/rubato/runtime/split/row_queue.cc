#include "rubato/runtime/split/row_queue.h"

namespace rubato::runtime::split {
namespace {

// States of a chunk in place of an owner. Process ids are far smaller.
constexpr std::uint32_t kChunkFree = 0xffffffff;
constexpr std::uint32_t kChunkDone = 0xfffffffe;
constexpr std::uint32_t kFailed = 0xfffffffd;
constexpr std::uint32_t kWithdrawn = 0xfffffffc;
constexpr std::uint32_t kOwnerMax = 0xfffffff0;
// What the lower half of a ticket is while nothing is handed out.
constexpr std::uint32_t kNoChunk = 0xffffffff;
// The leader is the only process that waits for chunks.
constexpr unsigned kLeaderWaiter = 0;

constexpr std::uint64_t pack(std::uint32_t sequence, std::uint32_t low) {
  return std::uint64_t{sequence} << 32 | low;
}
constexpr std::uint32_t sequence_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint32_t low_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

/// True if a process holds this chunk, or may still take it.
bool is_open(std::uint32_t state) {
  return state == kChunkFree || (state != 0 && state < kOwnerMax);
}

}  // namespace

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(offsetof(RowQueueWords, total) == offsetof(RowQueueWords, ticket) + 8);

Result<RowQueue> RowQueue::open(const SharedRegion& region, std::size_t offset) {
  const auto part = region.part(offset, sizeof(RowQueueWords), alignof(RowQueueWords), "row queue");
  if (!part) {
    return part.error();
  }
  return RowQueue(*reinterpret_cast<RowQueueWords*>(part->data()));
}

bool RowQueue::start(std::uint32_t total) {
  RUBATO_CHECK(total > 0 && total <= kRowChunksMax);
  stop();
  if (!held().empty()) {
    return false;
  }
  const std::uint32_t next = sequence() + 1;
  for (std::uint32_t chunk = 0; chunk < total; ++chunk) {
    words_->chunks[chunk].store(pack(next, kChunkFree), std::memory_order_relaxed);
  }
  words_->total.store(total, std::memory_order_relaxed);
  words_->ticket.store(pack(next, 0), std::memory_order_release);
  return true;
}

void RowQueue::stop() {
  std::uint64_t ticket = words_->ticket.load(std::memory_order_acquire);
  while (!words_->ticket.compare_exchange_weak(ticket, pack(sequence_of(ticket), kNoChunk),
                                               std::memory_order_acq_rel)) {
  }
  // A process that read the ticket before may still claim a chunk, unless none is free.
  const std::uint32_t now = sequence_of(ticket);
  for (std::uint32_t chunk = 0; chunk < total(); ++chunk) {
    std::uint64_t expected = pack(now, kChunkFree);
    words_->chunks[chunk].compare_exchange_strong(expected, pack(now, kWithdrawn),
                                                  std::memory_order_acq_rel);
  }
}

std::optional<std::uint32_t> RowQueue::take(std::uint32_t owner) {
  RUBATO_CHECK(owner > 0 && owner < kOwnerMax);
  std::uint64_t ticket = words_->ticket.load(std::memory_order_acquire);
  while (true) {
    // If `total` belongs to a later round already, the claim below fails.
    const std::uint32_t chunk = low_of(ticket);
    if (chunk >= words_->total.load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    std::uint64_t expected = pack(sequence_of(ticket), kChunkFree);
    const bool is_mine = words_->chunks[chunk].compare_exchange_strong(
        expected, pack(sequence_of(ticket), owner), std::memory_order_acq_rel);
    // Whoever finds the chunk taken moves the ticket on: its owner may have been killed before it
    // could. If that fails, somebody else has moved it.
    const std::uint32_t round = sequence_of(ticket);
    if (words_->ticket.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel)) {
      ticket = pack(round, chunk + 1);
    }
    if (is_mine) {
      taken_sequence_ = round;
      return chunk;
    }
  }
}

bool RowQueue::done(std::uint32_t chunk, std::uint32_t owner) {
  return finish(chunk, owner, kChunkDone);
}

bool RowQueue::fail(std::uint32_t chunk, std::uint32_t owner) {
  return finish(chunk, owner, kFailed);
}

bool RowQueue::finish(std::uint32_t chunk, std::uint32_t owner, std::uint32_t state) {
  RUBATO_CHECK(chunk < kRowChunksMax);
  std::uint64_t expected = pack(taken_sequence_, owner);
  const bool was_mine = words_->chunks[chunk].compare_exchange_strong(
      expected, pack(taken_sequence_, state), std::memory_order_acq_rel);
  if (was_mine) {
    words_->finished.raise();
  }
  return was_mine;
}

bool RowQueue::is_finished() const {
  for (std::uint32_t chunk = 0; chunk < total(); ++chunk) {
    if (is_open(low_of(words_->chunks[chunk].load(std::memory_order_acquire)))) {
      return false;
    }
  }
  return true;
}

bool RowQueue::wait_all(std::chrono::microseconds timeout) const {
  return is_finished() || wait_for(words_->finished, kLeaderWaiter, {.timeout = timeout},
                                   [this] { return is_finished(); });
}

std::vector<HeldChunk> RowQueue::held() const {
  std::vector<HeldChunk> chunks;
  for (std::uint32_t chunk = 0; chunk < total(); ++chunk) {
    const std::uint32_t state = low_of(words_->chunks[chunk].load(std::memory_order_acquire));
    if (is_open(state) && state != kChunkFree) {
      chunks.push_back({.chunk = chunk, .owner = state});
    }
  }
  return chunks;
}

std::uint32_t RowQueue::failed() const {
  std::uint32_t count = 0;
  for (std::uint32_t chunk = 0; chunk < total(); ++chunk) {
    count += low_of(words_->chunks[chunk].load(std::memory_order_acquire)) == kFailed ? 1U : 0U;
  }
  return count;
}

std::vector<std::uint32_t> RowQueue::reclaim(std::uint32_t owner, std::uint32_t successor) {
  std::vector<std::uint32_t> chunks;
  taken_sequence_ = sequence();
  for (std::uint32_t chunk = 0; chunk < total(); ++chunk) {
    std::uint64_t expected = pack(taken_sequence_, owner);
    if (words_->chunks[chunk].compare_exchange_strong(expected, pack(taken_sequence_, successor),
                                                      std::memory_order_acq_rel)) {
      chunks.push_back(chunk);
    }
  }
  return chunks;
}

bool RowQueue::has_work() const {
  return low_of(words_->ticket.load(std::memory_order_acquire)) < total();
}

std::uint32_t RowQueue::sequence() const {
  return sequence_of(words_->ticket.load(std::memory_order_acquire));
}

std::uint32_t RowQueue::total() const { return words_->total.load(std::memory_order_acquire); }

}  // namespace rubato::runtime::split
