#include "rubato/runtime/content_hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace rubato {
namespace {

constexpr std::size_t kHashLanes = 4;  // Independent sums keep the processor's multipliers busy.
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;

std::uint64_t hashed(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * kOdd, 29);
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
  return hash ^ (hash >> 32U);
}

}  // namespace rubato
