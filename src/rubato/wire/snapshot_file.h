// A snapshot of training as bytes, in a file or in shared memory: where training stood, and a few
// sections whose meaning is the trainer's. Nothing in it depends on how many workers there were.
//
//     bytes           what
//     0..8            "RUBATOSN"
//     8..12           version
//     12..16          number of sections, n
//     16..40          step, epoch, position
//     40..40+8n       bytes of each section
//     then 8          checksum of all before
//     then            the sections, each beginning at a multiple of 64
//     then 8          checksum of everything between the first checksum and here
//
// Numbers are little-endian; checksums are CRC-32C in eight bytes. Gaps are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/wire/data_cursor.h"

namespace rubato {

constexpr std::uint32_t kSnapshotVersion = 1;
constexpr std::size_t kSnapshotSectionsMax = 64;

/// What a snapshot holds. The sections are views of someone else's memory.
struct Snapshot {
  DataCursor cursor{};
  std::vector<std::span<const std::byte>> sections{};
};

/// Bytes a snapshot with sections of these sizes takes.
[[nodiscard]] std::size_t snapshot_bytes(std::span<const std::size_t> section_bytes);

/// Writes a snapshot at the beginning of the memory and returns how many bytes it took; fails if
/// there is no room for it, or if it has too many sections.
[[nodiscard]] Result<std::size_t> encode_snapshot(const Snapshot& snapshot,
                                                  std::span<std::byte> memory);

/// Reads what encode_snapshot() wrote; the bytes must be the snapshot and nothing else. The error
/// says what is wrong: not a snapshot, another version, truncated, too long, checksum.
[[nodiscard]] Result<Snapshot> decode_snapshot(std::span<const std::byte> bytes);

}  // namespace rubato
