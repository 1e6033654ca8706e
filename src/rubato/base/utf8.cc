#include "rubato/base/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rubato {
namespace {

// Bytes of the character that begins the text, zero if none does. Neither overlong forms nor
// surrogates are characters.
std::size_t utf8_character_bytes(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) {
    return 0;
  }
  std::uint32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return 0;
    }
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return is_overlong || is_surrogate || code > 0x10ffff ? 0 : length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

bool is_plain_text(std::string_view text) {
  return is_utf8(text) && std::ranges::none_of(text, [](char character) {
           const auto byte = static_cast<std::uint8_t>(character);
           return byte < 0x20 || byte == 0x7f;
         });
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    repaired += bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return repaired;
}

}  // namespace rubato
