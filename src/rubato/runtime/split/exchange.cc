#include "rubato/runtime/split/exchange.h"

#include <cstring>
#include <string>
#include <thread>

namespace rubato::runtime::split {
namespace {

constexpr std::size_t kSlotAlignment = 64;
constexpr std::size_t kNumberBytesMax = 8;
// A rank writes the vector of its next turn while others still read the one of this turn.
constexpr std::size_t kSlotsOfRank = 2;
constexpr std::chrono::microseconds kExchangeSpin{100};

std::size_t slot_bytes_of(std::size_t numbers_max) {
  return (numbers_max * kNumberBytesMax + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

std::uint64_t ticket_of(const ExchangeTurn& turn) {
  // Never zero, which is what unused memory holds.
  return (std::uint64_t{turn.generation} << 32U | turn.sequence) + 1;
}

/// No spinning if ranks share processors: the one that we wait for might need ours.
WaitTimes wait_times(unsigned ranks, std::chrono::microseconds timeout) {
  const bool has_processors = ranks <= std::thread::hardware_concurrency();
  return {.spin = has_processors ? kExchangeSpin : std::chrono::microseconds(0),
          .timeout = timeout};
}

}  // namespace

Exchange::Exchange(std::byte* memory, std::size_t offset, unsigned ranks_max,
                   std::size_t numbers_max)
    : memory_(memory),
      offset_(offset),
      ranks_max_(ranks_max),
      slot_bytes_(slot_bytes_of(numbers_max)) {}

std::size_t Exchange::footprint(unsigned ranks_max, std::size_t numbers_max) {
  return sizeof(ExchangeWords) +
         ranks_max * (sizeof(ArrivalWord) + kSlotsOfRank * slot_bytes_of(numbers_max));
}

Result<Exchange> Exchange::open(const SharedRegion& region, std::size_t offset, unsigned ranks_max,
                                std::size_t numbers_max) {
  if (ranks_max == 0 || ranks_max > kWaitersMax) {
    return bad_input("an exchange has 1 to " + std::to_string(kWaitersMax) + " ranks, found " +
                     std::to_string(ranks_max));
  }
  const auto memory =
      region.part(offset, footprint(ranks_max, numbers_max), alignof(ExchangeWords), "an exchange");
  if (!memory) {
    return memory.error();
  }
  return Exchange(memory->data(), offset, ranks_max, numbers_max);
}

Result<ExchangeOutcome> Exchange::all_gather(std::span<const std::byte> vector,
                                             const ExchangeTurn& turn,
                                             std::chrono::microseconds timeout) {
  if (vector.size() > slot_bytes_) {
    return bad_input("the vector has " + std::to_string(vector.size()) +
                     " bytes, but a slot of the exchange holds at most " +
                     std::to_string(slot_bytes_));
  }
  if (turn.ranks == 0 || turn.ranks > ranks_max_ || turn.rank >= turn.ranks) {
    return bad_input("rank " + std::to_string(turn.rank) + " of " + std::to_string(turn.ranks) +
                     " is none of an exchange of at most " + std::to_string(ranks_max_) + " ranks");
  }
  if (!vector.empty()) {
    std::memcpy(memory_ + slot_begin(turn.rank, turn.sequence), vector.data(), vector.size());
  }
  const std::uint64_t ticket = ticket_of(turn);
  arrival(turn.rank).ticket.store(ticket, std::memory_order_release);
  words().signal.raise();

  bool is_aborted = false;
  bool is_complete = false;
  const auto is_over = [&] {
    is_complete = true;
    for (unsigned rank = 0; rank < turn.ranks && is_complete; ++rank) {
      is_complete = arrival(rank).ticket.load(std::memory_order_acquire) >= ticket;
    }
    is_aborted = words().first_valid_generation.load(std::memory_order_acquire) > turn.generation;
    return is_complete || is_aborted;
  };
  static_cast<void>(wait_for(words().signal, turn.rank, wait_times(turn.ranks, timeout), is_over));
  if (is_aborted) {
    return ExchangeOutcome::Aborted;
  }
  return is_complete ? ExchangeOutcome::Complete : ExchangeOutcome::TimedOut;
}

void Exchange::abort(std::uint32_t generation) {
  std::atomic<std::uint64_t>& first = words().first_valid_generation;
  std::uint64_t before = first.load();
  const std::uint64_t after = std::uint64_t{generation} + 1;
  while (before < after && !first.compare_exchange_weak(before, after)) {
  }
  words().signal.raise();
}

Result<std::size_t> Exchange::slot_offset(unsigned rank, std::uint32_t sequence) const {
  if (rank >= ranks_max_) {
    return bad_input("the exchange has no rank " + std::to_string(rank) + ", only " +
                     std::to_string(ranks_max_));
  }
  return offset_ + slot_begin(rank, sequence);
}

ExchangeWords& Exchange::words() const { return *reinterpret_cast<ExchangeWords*>(memory_); }

ArrivalWord& Exchange::arrival(unsigned rank) const {
  return reinterpret_cast<ArrivalWord*>(memory_ + sizeof(ExchangeWords))[rank];
}

std::size_t Exchange::slot_begin(unsigned rank, std::uint32_t sequence) const {
  return sizeof(ExchangeWords) + ranks_max_ * sizeof(ArrivalWord) +
         (rank * kSlotsOfRank + sequence % kSlotsOfRank) * slot_bytes_;
}

}  // namespace rubato::runtime::split
