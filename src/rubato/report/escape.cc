#include "rubato/report/escape.h"

#include <nlohmann/json.hpp>

namespace rubato {

std::string html_escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string script_safe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    // These can only stand inside strings, where an escape means the same.
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view kEllipsis = "…";
  if (text.size() <= bytes_max) {
    return std::string(text);
  }
  std::size_t end = bytes_max > kEllipsis.size() ? bytes_max - kEllipsis.size() : 0;
  while (end > 0 && (text[end] & 0xC0) == 0x80) {
    --end;
  }
  return std::string(text.substr(0, end)).append(kEllipsis);
}

}  // namespace rubato
