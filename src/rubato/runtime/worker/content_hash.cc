#include "rubato/runtime/worker/content_hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace rubato {
namespace {

constexpr std::size_t kHashLanes = 4;  // Independent sums keep the processor's multipliers busy.
constexpr std::uint64_t kWordFactor = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t kLaneFactor = 0xbf58476d1ce4e5b9U;

// One factor before the turn and one behind it: a product carries a difference upwards only, so a
// word's highest bit would otherwise stay a single bit, which one bit of the next word could undo.
std::uint64_t hashed(std::uint64_t hash, std::uint64_t word) {
  return std::rotl(hash + word * kWordFactor, 31) * kLaneFactor;
}

// Every bit of the result depends on every bit of the hash.
std::uint64_t finished(std::uint64_t hash) {
  hash = (hash ^ (hash >> 30U)) * kLaneFactor;
  hash = (hash ^ (hash >> 27U)) * kWordFactor;
  return hash ^ (hash >> 31U);
}

}  // namespace

std::uint64_t content_hash(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, kHashLanes> lanes{1, 2, 3, 4};
  std::array<std::uint64_t, kHashLanes> words{};
  const std::size_t stride = sizeof(words);
  std::size_t at = 0;
  for (; at + stride <= bytes.size(); at += stride) {
    std::memcpy(words.data(), &bytes[at], stride);
    for (std::size_t lane = 0; lane < kHashLanes; ++lane) {
      lanes[lane] = hashed(lanes[lane], words[lane]);
    }
  }
  words = {};
  if (at < bytes.size()) {
    std::memcpy(words.data(), &bytes[at], bytes.size() - at);
  }
  std::uint64_t hash = bytes.size();
  for (std::size_t lane = 0; lane < kHashLanes; ++lane) {
    hash = hashed(hashed(hash, lanes[lane]), words[lane]);
  }
  return finished(hash);
}

}  // namespace rubato
