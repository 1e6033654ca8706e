#include "rubato/runtime/shared_memory/reduce_check.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace rubato {
namespace {

/// Folds one more word into a fingerprint; every bit of both reaches every bit of the result.
std::uint64_t folded(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9e37'79b9'7f4a'7c15U;
  state ^= state >> 32U;
  state *= 0xd6e8'feb8'6659'fd93U;
  return state ^ (state >> 29U);
}

}  // namespace

Status check_reduce(const ReduceRequest& request, const ReduceLimits& limits) {
  if (request.note.size() > limits.note_length) {
    return bad_input(fmt::format("reduce: a note has at most {} numbers, found {}",
                                 limits.note_length, request.note.size()));
  }
  if (request.floats == 0) {
    return ok_status();
  }
  if (request.floats > limits.floats) {
    return bad_input(fmt::format("reduce: slots have {} floats, found a request for {}",
                                 limits.floats, request.floats));
  }
  if (request.places.empty() || request.places.size() > limits.shards_max) {
    return bad_input(fmt::format("reduce: expected 1 to {} shards, found {}", limits.shards_max,
                                 request.places.size()));
  }
  if (request.weights.size() != request.places.size()) {
    return bad_input(fmt::format("reduce: {} shards have {} weights", request.places.size(),
                                 request.weights.size()));
  }
  for (const ShardPlace& place : request.places) {
    if (place.rank < 0 || place.rank >= limits.size || place.slot < 0 ||
        static_cast<std::size_t>(place.slot) >= limits.slots) {
      return bad_input(fmt::format("reduce: no slot {} on rank {}: there are {} ranks of {} slots",
                                   place.slot, place.rank, limits.size, limits.slots));
    }
  }
  return ok_status();
}

std::uint64_t fingerprint_of(const ReduceRequest& request) {
  std::uint64_t state = folded(request.wants_squares ? 2 : 1, request.floats);
  if (request.wants_squares) {
    state = folded(state, std::min(request.measured_floats, request.floats));
  }
  if (request.floats == 0) {
    return state;
  }
  for (const ShardPlace& place : request.places) {
    state = folded(state, (static_cast<std::uint64_t>(place.rank) << 32U) +
                              static_cast<std::uint64_t>(place.slot));
  }
  for (const float weight : request.weights) {
    state = folded(state, std::bit_cast<std::uint32_t>(weight));
  }
  return state;
}

std::uint64_t fingerprint_of_broadcast(std::size_t bytes, int source) {
  return folded(folded(3, bytes), static_cast<std::uint64_t>(source));
}

}  // namespace rubato
