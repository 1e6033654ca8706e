#include "rubato/wire/crc32c.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The definition, bit by bit.
std::uint32_t by_definition(std::span<const std::byte> bytes) {
  std::uint32_t sum = ~0U;
  for (const std::byte byte : bytes) {
    sum ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82f63b78U : 0U);
    }
  }
  return ~sum;
}

TEST(Crc32c, HasTheValuesOfRfc3720) {
  const std::vector<std::byte> zeros(32, std::byte{0});
  const std::vector<std::byte> ones(32, std::byte{0xff});

  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(zeros), 0x8a9136aaU);
  EXPECT_EQ(crc32c(ones), 0x62a8ab43U);
  EXPECT_EQ(crc32c({}), 0U);
}

RC_GTEST_PROP(Crc32c, IsTheSameByTableByInstructionAndInParts, (std::uint64_t seed)) {
  Random random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(random.integer(0, 300)));
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random.next());
  }
  const auto cut =
      static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size())));
  const std::span<const std::byte> all = bytes;

  const std::uint32_t expected = by_definition(all);

  RC_ASSERT(crc32c(all) == expected);
  RC_ASSERT(crc32c_by_table(all) == expected);
  RC_ASSERT(crc32c(all.subspan(cut), crc32c(all.first(cut))) == expected);
  RC_ASSERT(crc32c_by_table(all.subspan(cut), crc32c_by_table(all.first(cut))) == expected);
}

}  // namespace
}  // namespace rubato
