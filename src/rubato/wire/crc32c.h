// CRC-32C (Castagnoli), the checksum of snapshots: by the processor's own instruction if it has
// one, by table otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rubato {

/// The checksum of the bytes; `before` is that of the bytes in front of them, if any.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The same without the processor's instruction.
[[nodiscard]] std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                                            std::uint32_t before = 0);

}  // namespace rubato
