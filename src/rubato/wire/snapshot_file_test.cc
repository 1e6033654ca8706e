#include "rubato/wire/snapshot_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"
#include "rubato/wire/crc32c.h"

namespace rubato {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(Random& random, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random.next());
  }
  return bytes;
}

Bytes encoded(const Snapshot& snapshot) {
  std::vector<std::size_t> sizes;
  for (const auto& section : snapshot.sections) {
    sizes.push_back(section.size());
  }
  Bytes memory(snapshot_bytes(sizes), std::byte{0xaa});
  const auto written = encode_snapshot(snapshot, memory);
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(*written, memory.size());
  return memory;
}

Bytes small_snapshot() {
  static constexpr std::array<std::byte, 5> kContents = {std::byte{1}, std::byte{2}, std::byte{3}};
  return encoded({.cursor = {.step = 7, .epoch = 1, .position = 96}, .sections = {kContents, {}}});
}

std::string reason_of(std::span<const std::byte> bytes) {
  const auto decoded = decode_snapshot(bytes);
  return decoded.ok() ? "good" : decoded.error().message;
}

RC_GTEST_PROP(SnapshotFile, ReadsBackWhatWasWritten, (std::uint64_t seed)) {
  Random random(seed);
  std::vector<Bytes> sections(static_cast<std::size_t>(random.integer(0, 6)));
  Snapshot snapshot{
      .cursor = {.step = random.next(), .epoch = random.next(), .position = random.next()}};
  for (Bytes& section : sections) {
    section = random_bytes(random, static_cast<std::size_t>(random.integer(0, 200)));
    snapshot.sections.emplace_back(section);
  }

  const Bytes bytes = encoded(snapshot);
  const auto decoded = decode_snapshot(bytes);

  RC_ASSERT(decoded.ok());
  RC_ASSERT(decoded->cursor == snapshot.cursor);
  RC_ASSERT(decoded->sections.size() == sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    RC_ASSERT(std::ranges::equal(decoded->sections[i], sections[i]));
    RC_ASSERT((decoded->sections[i].data() - bytes.data()) % 64 == 0);
  }
}

TEST(SnapshotFile, SaysThatItIsTruncatedAtEveryLength) {
  const Bytes bytes = small_snapshot();

  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(reason_of(std::span(bytes).first(length)), testing::StartsWith("truncated: "))
        << length;
  }
}

TEST(SnapshotFile, SeesEveryFlippedBit) {
  const Bytes whole = small_snapshot();

  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes bytes = whole;
      bytes[at] ^= static_cast<std::byte>(1U << bit);
      const char* const expected = at < 8 ? "not a snapshot" : at < 12 ? "wrong version" : "";
      EXPECT_THAT(reason_of(bytes), testing::StartsWith(expected)) << at;
      EXPECT_NE(reason_of(bytes), "good") << at << " bit " << bit;
    }
  }
}

TEST(SnapshotFile, NamesDamagedContents) {
  Bytes bytes = small_snapshot();
  bytes[70] ^= std::byte{1};

  EXPECT_EQ(reason_of(bytes), "checksum: the contents are damaged");
}

TEST(SnapshotFile, NamesADamagedHead) {
  Bytes bytes = small_snapshot();
  bytes[20] ^= std::byte{1};

  EXPECT_EQ(reason_of(bytes), "checksum: the head is damaged");
}

TEST(SnapshotFile, NamesAnotherVersion) {
  Bytes bytes = small_snapshot();
  bytes[8] = std::byte{9};

  EXPECT_EQ(reason_of(bytes), "wrong version: 9, this program reads 1");
}

TEST(SnapshotFile, AcceptsNothingBehindIt) {
  Bytes bytes = small_snapshot();
  bytes.push_back(std::byte{0});

  EXPECT_THAT(reason_of(bytes), testing::StartsWith("too long: "));
}

void put_number(Bytes& bytes, std::size_t at, std::uint64_t number) {
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[at + i] = static_cast<std::byte>((number >> (8 * i)) & 255U);
  }
}

TEST(SnapshotFile, WithstandsSizesBeyondAllBoundsUnderAGoodChecksum) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63U;
  // The sum of the first pair is, but for its overflow, just what the file has.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes = {
      {kHalf, kHalf + 64}, {0, ~std::uint64_t{0}}, {kHalf / 2, kHalf / 2}, {1, 1000}};
  for (const auto& [first, second] : sizes) {
    Bytes bytes = small_snapshot();
    put_number(bytes, 40, first);
    put_number(bytes, 48, second);
    put_number(bytes, 56, crc32c(std::span(bytes).first(56)));

    EXPECT_NE(reason_of(bytes), "good") << first;
  }
}

TEST(SnapshotFile, IsNotWrittenWhereItDoesNotFit) {
  Bytes memory(small_snapshot().size() - 1);
  const Bytes contents(5);

  EXPECT_FALSE(encode_snapshot({.sections = {contents, {}}}, memory).ok());
  EXPECT_FALSE(
      encode_snapshot({.sections = std::vector<std::span<const std::byte>>(65)}, memory).ok());
}

// Files of earlier versions of this program must stay readable: these bytes never change. A
// checksum would not do to compare them, since that of bytes with their checksum behind them is a
// constant.
TEST(SnapshotFile, HasTheSameBytesInEveryVersion) {
  std::ifstream file("tests/corpus/snapshot_file/two_sections", std::ios::binary);
  const std::string stored(std::istreambuf_iterator<char>(file), {});

  const Bytes bytes = small_snapshot();

  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(stored)), bytes));
}

}  // namespace
}  // namespace rubato
