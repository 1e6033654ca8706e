#include "rubato/runtime/worker/content_hash.h"

#include <algorithm>
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

void flip(std::vector<std::byte>& bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
}

TEST(ContentHash, TellsAllChangesOfOneAndTwoBitsApart) {
  std::vector<std::byte> bytes = counting(75);  // Two strides, and some that fill none.
  const std::size_t bits = bytes.size() * 8;
  std::vector<std::uint64_t> hashes{content_hash(bytes)};

  for (std::size_t first = 0; first < bits; ++first) {
    flip(bytes, first);
    hashes.push_back(content_hash(bytes));
    for (std::size_t second = first + 1; second < bits; ++second) {
      flip(bytes, second);
      hashes.push_back(content_hash(bytes));
      flip(bytes, second);
    }
    flip(bytes, first);
  }

  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
}

TEST(ContentHash, TellsBitsApartThatAreFarFromEachOther) {
  std::vector<std::byte> bytes(100 * 32);  // Zeros, as many parameters are at first.
  std::vector<std::uint64_t> hashes{content_hash(bytes)};

  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    flip(bytes, bit);
    hashes.push_back(content_hash(bytes));
    flip(bytes, bit);
  }

  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
}

TEST(ContentHash, SeesTheOrder) {
  std::vector<std::byte> bytes = counting(64);
  const std::uint64_t before = content_hash(bytes);

  std::swap(bytes[0], bytes[8]);

  EXPECT_NE(content_hash(bytes), before);
}

}  // namespace
}  // namespace rubato
