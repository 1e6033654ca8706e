// Text to its parts, and to numbers without exceptions or locales: the whole text must be the
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rubato {

[[nodiscard]] std::string_view trimmed(std::string_view text);

/// The text up to the first separator, or all of it; `text` is left with what follows.
[[nodiscard]] std::string_view take_until(std::string_view& text, char separator);

/// Finite numbers only: "nan" and "inf" are nothing.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text);

/// The shortest text that reads back as the same double.
[[nodiscard]] std::string shortest(double number);

}  // namespace rubato
