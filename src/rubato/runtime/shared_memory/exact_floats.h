// Doubles that travel through a sum of floats without loss: four integers below 2^16 each, which
// floats hold exactly and which stay what they are when everyone else adds zero.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rubato {

constexpr std::size_t kFloatsPerWord = 4;

/// Writes the bits of a word.
inline void put_exactly(std::uint64_t word, std::span<float, kFloatsPerWord> floats) {
  for (std::size_t i = 0; i < kFloatsPerWord; ++i) {
    floats[i] = static_cast<float>((word >> (16U * i)) & 0xffffU);
  }
}

/// Reads a word that was put.
[[nodiscard]] inline std::uint64_t take_exactly(std::span<const float, kFloatsPerWord> floats) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kFloatsPerWord; ++i) {
    // What is no such integer was not put by us; any word will do, but the conversion must be one.
    const bool is_whole = floats[i] >= 0.0F && floats[i] <= 65535.0F;
    word |= (is_whole ? static_cast<std::uint64_t>(floats[i]) : 0U) << (16U * i);
  }
  return word;
}

inline void put_exactly(double value, std::span<float, kFloatsPerWord> floats) {
  put_exactly(std::bit_cast<std::uint64_t>(value), floats);
}

[[nodiscard]] inline double take_double(std::span<const float, kFloatsPerWord> floats) {
  return std::bit_cast<double>(take_exactly(floats));
}

}  // namespace rubato
