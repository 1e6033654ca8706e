// What the ranks of one call tell each other while they compute, as synchronised batch norm does:
// each rank hands in a short vector and sees those of all others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rubato/base/result.h"
#include "rubato/runtime/split/shared_region.h"
#include "rubato/runtime/split/shared_signal.h"

namespace rubato::runtime::split {

/// Where a rank is. Each rank writes its own only.
struct ArrivalWord {
  // Generation and sequence number, as one number that only grows.
  alignas(64) std::atomic<std::uint64_t> ticket;
};

/// The part of an exchange that all ranks share; all zero at first.
struct ExchangeWords {
  SharedSignal signal;
  // Generations below this one are over.
  alignas(64) std::atomic<std::uint64_t> first_valid_generation;
};

/// One rank's turn.
struct ExchangeTurn {
  unsigned rank = 0;
  unsigned ranks = 1;
  // Counts the turns of a generation. The ranks of one generation take the same turns.
  std::uint32_t sequence = 0;
  // Grows. Between two generations all ranks must have met in another way (by their replies).
  std::uint32_t generation = 0;
};

enum class ExchangeOutcome { Complete = 0, TimedOut = 1, Aborted = 2 };

/// Vectors of up to `numbers_max` numbers of at most eight bytes each.
class Exchange {
 public:
  [[nodiscard]] static std::size_t footprint(unsigned ranks_max, std::size_t numbers_max);
  /// The region must outlive the exchange.
  [[nodiscard]] static Result<Exchange> open(const SharedRegion& region, std::size_t offset,
                                             unsigned ranks_max, std::size_t numbers_max);

  /// Hands in a vector and waits for those of all ranks. They stay where they are until this rank's
  /// next turn but one.
  [[nodiscard]] Result<ExchangeOutcome> all_gather(std::span<const std::byte> vector,
                                                   const ExchangeTurn& turn,
                                                   std::chrono::microseconds timeout);

  /// Ends all turns of this generation and earlier ones, now and in future. From any process.
  void abort(std::uint32_t generation);

  /// Where a rank's vector of a turn lies in the region.
  [[nodiscard]] Result<std::size_t> slot_offset(unsigned rank, std::uint32_t sequence) const;

 private:
  Exchange(std::byte* memory, std::size_t offset, unsigned ranks_max, std::size_t numbers_max);

  [[nodiscard]] ExchangeWords& words() const;
  [[nodiscard]] ArrivalWord& arrival(unsigned rank) const;
  /// Distance of a slot from the beginning of the exchange.
  [[nodiscard]] std::size_t slot_begin(unsigned rank, std::uint32_t sequence) const;

  std::byte* memory_;
  std::size_t offset_;
  unsigned ranks_max_;
  std::size_t slot_bytes_;
};

}  // namespace rubato::runtime::split
