// A place in one of several queues as one number: by queue, in it running jobs ahead of waiting
// ones, each in the order of their numbers in line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubato::policy::tiresias {

constexpr int kQueueShift = 56;
constexpr std::int64_t kWaitingBit = std::int64_t{1} << 55;
constexpr std::int64_t kFirstNumber = std::int64_t{1} << 54;  // Numbers may be negative.

/// `number` is less than 2^54 either way, `queue` less than 2^7.
[[nodiscard]] constexpr std::int64_t rank_value(std::size_t queue, bool waits,
                                                std::int64_t number) {
  return (static_cast<std::int64_t>(queue) << kQueueShift) + (waits ? kWaitingBit : 0) +
         kFirstNumber + number;
}

[[nodiscard]] constexpr std::size_t queue_of(std::int64_t rank) {
  return static_cast<std::size_t>(rank >> kQueueShift);
}

[[nodiscard]] constexpr bool stands_with_waiting(std::int64_t rank) {
  return (rank & kWaitingBit) != 0;
}

}  // namespace rubato::policy::tiresias
