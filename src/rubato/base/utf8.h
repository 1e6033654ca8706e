// Text that may go into JSON and into messages: valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace rubato {

[[nodiscard]] bool is_utf8(std::string_view text);

/// Valid UTF-8 without control characters: what names, keys and tokens are made of.
[[nodiscard]] bool is_plain_text(std::string_view text);

/// The text with each byte that is not part of valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string repaired_utf8(std::string_view text);

}  // namespace rubato
