#include "rubato/runtime/content_hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace rubato {
namespace {

constexpr std::size_t kLanes = 4;  // Independent sums keep the processor's multipliers busy.
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * kOdd, 29);
}

}  // namespace

std::uint64_t content_hash(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, kLanes> lanes{1, 2, 3, 4};
  std::array<std::uint64_t, kLanes> words{};
  const std::size_t stride = sizeof(words);
  std::size_t at = 0;
  for (; at + stride <= bytes.size(); at += stride) {
    std::memcpy(words.data(), &bytes[at], stride);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = mixed(lanes[lane], words[lane]);
    }
  }
  words = {};
  if (at < bytes.size()) {
    std::memcpy(words.data(), &bytes[at], bytes.size() - at);
  }
  std::uint64_t hash = bytes.size();
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    hash = mixed(mixed(hash, lanes[lane]), words[lane]);
  }
  return hash ^ (hash >> 32U);
}

}  // namespace rubato
