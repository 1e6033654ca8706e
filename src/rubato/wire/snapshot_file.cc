#include "rubato/wire/snapshot_file.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "rubato/wire/crc32c.h"

namespace rubato {
namespace {

constexpr std::string_view kMagic = "RUBATOSN";
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kCountAt = 12;
constexpr std::size_t kCursorAt = 16;
constexpr std::size_t kSizesAt = 40;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kAlignment = 64;

template <typename Number>
void put(std::span<std::byte> memory, std::size_t at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    memory[at + i] = static_cast<std::byte>((number >> (8 * i)) & 255U);
  }
}

template <typename Number>
Number get(std::span<const std::byte> bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<Number>(static_cast<Number>(bytes[at + i]) << (8 * i));
  }
  return number;
}

std::size_t aligned(std::size_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

// Bytes of magic, cursor and sizes: where the first checksum is.
std::size_t head_bytes(std::size_t sections) { return kSizesAt + 8 * sections; }

Error not_whole(std::size_t found, std::uint64_t expected) {
  return bad_input(fmt::format("truncated: {} bytes of {}", found, expected));
}

// Checks the part that says how large the rest is, and returns the number of sections.
Result<std::size_t> checked_head(std::span<const std::byte> bytes) {
  const auto begin = bytes.first(std::min(bytes.size(), kMagic.size()));
  const auto is_same = [](std::byte found, char wanted) { return found == std::byte(wanted); };
  if (!std::equal(begin.begin(), begin.end(), kMagic.begin(), is_same)) {
    return bad_input("not a snapshot: it does not begin with RUBATOSN");
  }
  if (bytes.size() < kSizesAt) {
    return not_whole(bytes.size(), kSizesAt);
  }
  const auto version = get<std::uint32_t>(bytes, kVersionAt);
  if (version != kSnapshotVersion) {
    return bad_input(
        fmt::format("wrong version: {}, this program reads {}", version, kSnapshotVersion));
  }
  const auto sections = get<std::uint32_t>(bytes, kCountAt);
  if (sections > kSnapshotSectionsMax) {
    return bad_input(fmt::format("checksum: the head is damaged, it has {} sections", sections));
  }
  const std::size_t head = head_bytes(sections);
  if (bytes.size() < head + kChecksumBytes) {
    return not_whole(bytes.size(), head + kChecksumBytes);
  }
  if (get<std::uint64_t>(bytes, head) != crc32c(bytes.first(head))) {
    return bad_input("checksum: the head is damaged");
  }
  return std::size_t{sections};
}

}  // namespace

std::size_t snapshot_bytes(std::span<const std::size_t> section_bytes) {
  std::size_t end = head_bytes(section_bytes.size()) + kChecksumBytes;
  for (const std::size_t bytes : section_bytes) {
    end = aligned(end) + bytes;
  }
  return end + kChecksumBytes;
}

Result<std::size_t> encode_snapshot(const Snapshot& snapshot, std::span<std::byte> memory) {
  const std::size_t count = snapshot.sections.size();
  if (count > kSnapshotSectionsMax) {
    return bad_input(
        fmt::format("a snapshot has at most {} sections, not {}", kSnapshotSectionsMax, count));
  }
  std::array<std::size_t, kSnapshotSectionsMax> sizes{};
  std::ranges::transform(snapshot.sections, sizes.begin(), [](const auto& s) { return s.size(); });
  const std::size_t total = snapshot_bytes(std::span(sizes).first(count));
  if (memory.size() < total) {
    return bad_input(
        fmt::format("a snapshot of {} bytes does not fit in {}", total, memory.size()));
  }
  memory = memory.first(total);
  std::ranges::transform(kMagic, memory.begin(), [](char c) { return static_cast<std::byte>(c); });
  put(memory, kVersionAt, kSnapshotVersion);
  put(memory, kCountAt, static_cast<std::uint32_t>(count));
  put(memory, kCursorAt, snapshot.cursor.step);
  put(memory, kCursorAt + 8, snapshot.cursor.epoch);
  put(memory, kCursorAt + 16, snapshot.cursor.position);
  for (std::size_t i = 0; i < count; ++i) {
    put(memory, kSizesAt + 8 * i, std::uint64_t{sizes[i]});
  }
  const std::size_t head = head_bytes(count);
  put(memory, head, std::uint64_t{crc32c(memory.first(head))});
  std::size_t end = head + kChecksumBytes;
  for (const std::span<const std::byte> section : snapshot.sections) {
    const std::size_t begin = aligned(end);
    std::ranges::fill(memory.subspan(end, begin - end), std::byte{0});
    std::ranges::copy(section, memory.begin() + static_cast<std::ptrdiff_t>(begin));
    end = begin + section.size();
  }
  const std::size_t body = head + kChecksumBytes;
  put(memory, end, std::uint64_t{crc32c(memory.subspan(body, end - body))});
  return total;
}

Result<Snapshot> decode_snapshot(std::span<const std::byte> bytes) {
  const auto sections = checked_head(bytes);
  if (!sections) {
    return sections.error();
  }
  const std::size_t body = head_bytes(*sections) + kChecksumBytes;
  Snapshot snapshot{.cursor = {.step = get<std::uint64_t>(bytes, kCursorAt),
                               .epoch = get<std::uint64_t>(bytes, kCursorAt + 8),
                               .position = get<std::uint64_t>(bytes, kCursorAt + 16)}};
  std::array<std::size_t, kSnapshotSectionsMax> sizes{};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < *sections; ++i) {
    sizes[i] = get<std::uint64_t>(bytes, kSizesAt + 8 * i);
    // Far below overflow, and above all that exists.
    constexpr std::uint64_t kBytesMax = std::numeric_limits<std::uint64_t>::max() / 4;
    if (sizes[i] > kBytesMax - sum) {
      return bad_input("checksum: the head is damaged, sizes are beyond all bounds");
    }
    sum += sizes[i];
  }
  const std::size_t total = snapshot_bytes(std::span(sizes).first(*sections));
  if (bytes.size() < total) {
    return not_whole(bytes.size(), total);
  }
  if (bytes.size() > total) {
    return bad_input(fmt::format("too long: {} bytes instead of {}", bytes.size(), total));
  }
  const std::size_t end = total - kChecksumBytes;
  if (get<std::uint64_t>(bytes, end) != crc32c(bytes.subspan(body, end - body))) {
    return bad_input("checksum: the contents are damaged");
  }
  std::size_t begin = body;
  for (std::size_t i = 0; i < *sections; ++i) {
    begin = aligned(begin);
    snapshot.sections.push_back(bytes.subspan(begin, sizes[i]));
    begin += sizes[i];
  }
  return snapshot;
}

}  // namespace rubato
