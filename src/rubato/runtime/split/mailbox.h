// How a leader and one replica talk: requests one way, replies the other, both in shared memory.
// Either side may be killed at any moment; the other then waits in vain, notices, and resets the
// mailbox for a successor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rubato/base/result.h"
#include "rubato/runtime/split/shared_region.h"
#include "rubato/runtime/split/shared_signal.h"

namespace rubato::runtime::split {

/// The part of a queue that lies in shared memory; all zero when it is empty.
struct QueueWords {
  SharedSignal signal;
  // Bytes ever written and ever taken; a message is there if they differ.
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
};

/// Messages from one process to another, in order. A message is there as a whole or not at all,
/// wherever its sender was killed.
class MessageQueue {
 public:
  MessageQueue(QueueWords& words, std::span<std::byte> ring) : words_(&words), ring_(ring) {}

  /// Messages may wait behind each other as long as all of them fit.
  [[nodiscard]] Status send(std::span<const std::byte> message);

  [[nodiscard]] bool has_message() const;
  /// Waits for a message; false if none came in time.
  [[nodiscard]] bool wait(const WaitTimes& times) const;
  /// Size of the message that is there.
  [[nodiscard]] std::size_t next_size() const;
  /// Takes the message that is there; `to` has its size.
  void take(std::span<std::byte> to);

  void reset();
  [[nodiscard]] SharedSignal& signal() const { return words_->signal; }

 private:
  void copy_in(std::uint64_t position, std::span<const std::byte> from);
  void copy_out(std::uint64_t position, std::span<std::byte> to) const;

  QueueWords* words_;
  std::span<std::byte> ring_;
};

/// The two queues between the leader and one replica.
class Mailbox {
 public:
  /// Bytes that a mailbox takes whose messages have at most `capacity` bytes.
  [[nodiscard]] static std::size_t footprint(std::size_t capacity);
  /// The region must outlive the mailbox. Memory that was never written is an empty mailbox.
  [[nodiscard]] static Result<Mailbox> open(const SharedRegion& region, std::size_t offset,
                                            std::size_t capacity);

  [[nodiscard]] MessageQueue& requests() { return requests_; }
  [[nodiscard]] MessageQueue& replies() { return replies_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// Empties both queues. Only while no other process uses the mailbox.
  void reset();

 private:
  Mailbox(MessageQueue requests, MessageQueue replies, std::size_t capacity)
      : requests_(requests), replies_(replies), capacity_(capacity) {}

  MessageQueue requests_;
  MessageQueue replies_;
  std::size_t capacity_;
};

}  // namespace rubato::runtime::split
