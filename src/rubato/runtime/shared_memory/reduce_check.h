// What every kind of group asks of a reduction before it touches memory, and a number by which
// ranks see that they were asked the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rubato/base/result.h"
#include "rubato/runtime/communicator.h"

namespace rubato {

/// What a group can sum.
struct ReduceLimits {
  int size = 1;
  std::size_t slots = 1;   // Of every rank.
  std::size_t floats = 0;  // Of each slot.
  std::size_t shards_max = 0;
  std::size_t note_length = kNoteLength;
};

[[nodiscard]] Status check_reduce(const ReduceRequest& request, const ReduceLimits& limits);

/// The same for requests that differ in the note alone; different, all but surely, for others.
[[nodiscard]] std::uint64_t fingerprint_of(const ReduceRequest& request);

/// Likewise for what a broadcast asks.
[[nodiscard]] std::uint64_t fingerprint_of_broadcast(std::size_t bytes, int source);

}  // namespace rubato
