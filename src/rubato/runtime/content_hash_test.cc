#include "rubato/runtime/content_hash.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  return bytes;
}

TEST(ContentHash, IsTheSameForTheSameBytes) {
  EXPECT_EQ(content_hash(counting(100)), content_hash(counting(100)));
}

TEST(ContentHash, DiffersForEveryLength) {
  std::set<std::uint64_t> hashes;
  const std::vector<std::byte> zeros(200);

  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    hashes.insert(content_hash(std::span(zeros).first(size)));
  }

  EXPECT_EQ(hashes.size(), zeros.size() + 1);
}

TEST(ContentHash, SeesEveryBit) {
  std::vector<std::byte> bytes = counting(75);  // Two strides, and some that fill none.
  const std::uint64_t before = content_hash(bytes);

  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    EXPECT_NE(content_hash(bytes), before) << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(ContentHash, SeesTheOrder) {
  std::vector<std::byte> bytes = counting(64);
  const std::uint64_t before = content_hash(bytes);

  std::swap(bytes[0], bytes[8]);

  EXPECT_NE(content_hash(bytes), before);
}

}  // namespace
}  // namespace rubato
