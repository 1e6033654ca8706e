#include "rubato/runtime/split/idle_wait.h"

#include <algorithm>

namespace rubato::runtime::split {

bool WorkTicket::has_work() const {
  const std::uint64_t ticket = word->load(std::memory_order_acquire);
  const auto* const total = reinterpret_cast<const std::atomic<std::uint32_t>*>(word + 1);
  return static_cast<std::uint32_t>(ticket) < total->load(std::memory_order_acquire) &&
         static_cast<std::uint32_t>(ticket >> 32) != round_declined;
}

bool wait_for_request_or_work(const MessageQueue& requests, const WaitTimes& times,
                              std::span<const WorkTicket> tickets) {
  return wait_for(requests.signal(), /*waiter=*/0, times, [&] {
    return requests.has_message() || std::ranges::any_of(tickets, &WorkTicket::has_work);
  });
}

}  // namespace rubato::runtime::split
