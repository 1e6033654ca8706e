#include "rubato/wire/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rubato {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78U;  // Reflected.
constexpr std::size_t kSlices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// tables[k][b] is what byte b does to the sum k bytes later, so that eight bytes take one step.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? kPolynomial : 0U);
    }
    tables[0][byte] = sum;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8U) ^ tables[0][before & 255U];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t add_byte(std::uint32_t sum, std::byte byte) {
  return (sum >> 8U) ^ kTables[0][(sum ^ static_cast<std::uint32_t>(byte)) & 255U];
}

// Eight bytes as a number, the first byte lowest.
std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kSlices; ++i) {
    word |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::span<const std::byte> bytes,
                                                               std::uint32_t before) {
  std::uint64_t sum = ~before;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    sum = _mm_crc32_u64(sum, word);
    bytes = bytes.subspan(sizeof(word));
  }
  auto rest = static_cast<std::uint32_t>(sum);
  for (const std::byte byte : bytes) {
    rest = _mm_crc32_u8(rest, static_cast<unsigned char>(byte));
  }
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  while (bytes.size() >= kSlices) {
    std::uint64_t word = word_at(bytes.data()) ^ sum;
    sum = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      sum ^= kTables[kSlices - 1 - i][word & 255U];
      word >>= 8U;
    }
    bytes = bytes.subspan(kSlices);
  }
  for (const std::byte byte : bytes) {
    sum = add_byte(sum, byte);
  }
  return ~sum;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) {
    return by_instruction(bytes, before);
  }
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace rubato
