// How a replica waits: for a request, or for work that whoever has time may take.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "rubato/runtime/split/mailbox.h"

namespace rubato::runtime::split {

/// Work that is handed out in rounds, told by one word: the number of the round in the upper half,
/// the next piece in the lower. There is work if the lower half is less than the 32-bit word eight
/// bytes behind.
struct WorkTicket {
  const std::atomic<std::uint64_t>* word = nullptr;
  // A round that this process can do nothing for.
  std::uint32_t round_declined = 0;

  [[nodiscard]] bool has_work() const;
};

/// Waits until there is a request or work; false if neither came in time. Whoever hands out work
/// raises the queue's signal afterwards.
[[nodiscard]] bool wait_for_request_or_work(const MessageQueue& requests, const WaitTimes& times,
                                            std::span<const WorkTicket> tickets);

}  // namespace rubato::runtime::split
