#include "rubato/runtime/split/mailbox.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "rubato/base/check.h"

namespace rubato::runtime::split {
namespace {

// A message is its size and then its bytes.
using MessageSize = std::uint64_t;

/// Bytes of one queue's ring.
std::size_t ring_bytes(std::size_t capacity) {
  return (capacity + sizeof(MessageSize) + alignof(QueueWords) - 1) / alignof(QueueWords) *
         alignof(QueueWords);
}

}  // namespace

Status MessageQueue::send(std::span<const std::byte> message) {
  const std::size_t capacity = ring_.size() - sizeof(MessageSize);
  if (message.size() > capacity) {
    return bad_input("the message has " + std::to_string(message.size()) +
                     " bytes, but the mailbox holds at most " + std::to_string(capacity));
  }
  const std::uint64_t begin = words_->written.load(std::memory_order_relaxed);
  const std::uint64_t waiting = begin - words_->taken.load(std::memory_order_acquire);
  if (waiting + sizeof(MessageSize) + message.size() > ring_.size()) {
    return bad_input("the message has " + std::to_string(message.size()) +
                     " bytes, but earlier ones that nobody has taken yet leave too little of " +
                     std::to_string(capacity));
  }
  const MessageSize size = message.size();
  copy_in(begin, std::as_bytes(std::span(&size, 1)));
  copy_in(begin + sizeof size, message);
  words_->written.store(begin + sizeof size + message.size(), std::memory_order_release);
  words_->signal.raise();
  return ok_status();
}

bool MessageQueue::has_message() const {
  return words_->written.load(std::memory_order_acquire) !=
         words_->taken.load(std::memory_order_relaxed);
}

bool MessageQueue::wait(const WaitTimes& times) const {
  return wait_for(words_->signal, /*waiter=*/0, times, [this] { return has_message(); });
}

std::size_t MessageQueue::next_size() const {
  RUBATO_CHECK(has_message());
  MessageSize size = 0;
  copy_out(words_->taken.load(std::memory_order_relaxed),
           std::as_writable_bytes(std::span(&size, 1)));
  return size;
}

void MessageQueue::take(std::span<std::byte> to) {
  const std::uint64_t begin = words_->taken.load(std::memory_order_relaxed);
  copy_out(begin + sizeof(MessageSize), to);
  words_->taken.store(begin + sizeof(MessageSize) + to.size(), std::memory_order_release);
}

void MessageQueue::reset() {
  words_->signal.reset();
  words_->written.store(0);
  words_->taken.store(0);
}

void MessageQueue::copy_in(std::uint64_t position, std::span<const std::byte> from) {
  if (from.empty()) {
    return;
  }
  const std::size_t at = position % ring_.size();
  const std::size_t first = std::min(from.size(), ring_.size() - at);
  std::memcpy(ring_.data() + at, from.data(), first);
  std::memcpy(ring_.data(), from.data() + first, from.size() - first);
}

void MessageQueue::copy_out(std::uint64_t position, std::span<std::byte> to) const {
  if (to.empty()) {
    return;
  }
  const std::size_t at = position % ring_.size();
  const std::size_t first = std::min(to.size(), ring_.size() - at);
  std::memcpy(to.data(), ring_.data() + at, first);
  std::memcpy(to.data() + first, ring_.data(), to.size() - first);
}

std::size_t Mailbox::footprint(std::size_t capacity) {
  return 2 * (sizeof(QueueWords) + ring_bytes(capacity));
}

Result<Mailbox> Mailbox::open(const SharedRegion& region, std::size_t offset,
                              std::size_t capacity) {
  const auto memory = region.part(offset, footprint(capacity), alignof(QueueWords), "a mailbox");
  if (!memory) {
    return memory.error();
  }
  const std::size_t half = footprint(capacity) / 2;
  const auto queue = [&](std::size_t begin) {
    std::byte* const words = memory->data() + begin;
    return MessageQueue(*reinterpret_cast<QueueWords*>(words),
                        memory->subspan(begin + sizeof(QueueWords), ring_bytes(capacity)));
  };
  return Mailbox(queue(0), queue(half), capacity);
}

void Mailbox::reset() {
  requests_.reset();
  replies_.reset();
}

}  // namespace rubato::runtime::split
