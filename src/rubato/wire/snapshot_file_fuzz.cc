#include "rubato/wire/snapshot_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/base/check.h"
#include "rubato/wire/crc32c.h"

namespace {

using Bytes = std::vector<std::byte>;

// A snapshot that can be read is written again as the same bytes, but for what lies in its gaps.
void check_decoded(std::span<const std::byte> bytes) {
  const auto decoded = rubato::decode_snapshot(bytes);
  if (!decoded) {
    RUBATO_CHECK(!decoded.error().message.empty());
    return;
  }
  Bytes again(bytes.size());
  const auto written = rubato::encode_snapshot(*decoded, again);
  RUBATO_CHECK(written.ok() && *written == bytes.size());
  const auto reread = rubato::decode_snapshot(again);
  RUBATO_CHECK(reread.ok() && reread->cursor == decoded->cursor);
  RUBATO_CHECK(reread->sections.size() == decoded->sections.size());
  for (std::size_t i = 0; i < decoded->sections.size(); ++i) {
    RUBATO_CHECK(std::ranges::equal(reread->sections[i], decoded->sections[i]));
  }
}

void put_checksum(Bytes& bytes, std::size_t begin, std::size_t end) {
  const std::uint32_t sum = rubato::crc32c(std::span(bytes).subspan(begin, end - begin));
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[end + i] = static_cast<std::byte>(i < 4 ? (sum >> (8 * i)) & 255U : 0U);
  }
}

// Gives damaged bytes the checksums that they should have, so that damage gets past them.
void repair_checksums(Bytes& bytes) {
  constexpr std::size_t kCountAt = 12;
  constexpr std::size_t kSizesAt = 40;
  if (bytes.size() <= kCountAt) {
    return;
  }
  const std::size_t head = kSizesAt + 8 * static_cast<std::size_t>(bytes[kCountAt]);
  if (bytes.size() < head + 16) {
    return;
  }
  put_checksum(bytes, 0, head);
  put_checksum(bytes, head + 8, bytes.size() - 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(size);
  std::transform(data, data + size, bytes.begin(), [](auto byte) { return std::byte{byte}; });
  check_decoded(bytes);
  repair_checksums(bytes);
  check_decoded(bytes);
  return 0;
}
