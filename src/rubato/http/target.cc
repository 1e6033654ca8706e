#include "rubato/http/target.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "rubato/base/utf8.h"

namespace rubato {
namespace {

// The value of a hexadecimal digit.
std::optional<unsigned> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') {
    return static_cast<unsigned>(digit - '0');
  }
  if (digit >= 'a' && digit <= 'f') {
    return static_cast<unsigned>(digit - 'a') + 10;
  }
  if (digit >= 'A' && digit <= 'F') {
    return static_cast<unsigned>(digit - 'A') + 10;
  }
  return std::nullopt;
}

// Nothing if an escape is not two hexadecimal digits or the outcome is not plain text.
std::optional<std::string> unescaped(std::string_view text, bool is_plus_space) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += is_plus_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low) {
      return std::nullopt;
    }
    plain += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return is_plain_text(plain) ? std::optional(std::move(plain)) : std::nullopt;
}

// The text up to the separator, which is removed from the rest.
std::string_view cut_at(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return head;
}

// Adds the parameters of the part after the question mark; the name of the first bad one.
std::optional<std::string> add_query(std::string_view rest, HttpTarget& target) {
  while (!rest.empty()) {
    std::string_view value = cut_at(rest, '&');
    if (value.empty()) {
      continue;
    }
    const std::string_view name = cut_at(value, '=');
    const auto plain_name = unescaped(name, true);
    const auto plain_value = unescaped(value, true);
    if (!plain_name || !plain_value) {
      return "query: '" + repaired_utf8(name) + "' is not escaped plain text";
    }
    if (!target.query.emplace(*plain_name, *plain_value).second) {
      return "query: '" + *plain_name + "' is given twice";
    }
  }
  return std::nullopt;
}

}  // namespace

Result<HttpTarget> parse_target(std::string_view target) {
  HttpTarget parsed;
  std::string_view rest = target;
  std::string_view path = cut_at(rest, '?');
  if (!path.starts_with('/')) {
    return bad_input("target: expected a path that begins with '/'");
  }
  parsed.path = path;
  path.remove_prefix(1);
  for (bool is_last = false; !is_last;) {
    is_last = path.find('/') == std::string_view::npos;
    auto segment = unescaped(cut_at(path, '/'), false);
    if (!segment) {
      return bad_input("path: expected escaped plain text");
    }
    parsed.segments.push_back(std::move(*segment));
  }
  if (auto problem = add_query(rest, parsed)) {
    return bad_input(std::move(*problem));
  }
  return parsed;
}

std::string escaped_segment(std::string_view segment) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string escaped;
  for (const char character : segment) {
    if (kPlain.find(character) != std::string_view::npos) {
      escaped += character;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(character);
    escaped += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return escaped;
}

}  // namespace rubato
