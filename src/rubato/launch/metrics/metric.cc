#include "rubato/launch/metrics/metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rubato::launch::metrics {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_space(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

// Bytes of the UTF-8 character that `text` begins with; zero if it begins with none.
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t bytes = 0;
  unsigned least = 0;
  unsigned code = at(0);
  if (code < 0x80) {
    return 1;
  }
  if (code >= 0xC2 && code < 0xE0) {
    bytes = 2;
    least = 0x80;
    code &= 0x1FU;
  } else if (code >= 0xE0 && code < 0xF0) {
    bytes = 3;
    least = 0x800;
    code &= 0x0FU;
  } else if (code >= 0xF0 && code < 0xF5) {
    bytes = 4;
    least = 0x10000;
    code &= 0x07U;
  }
  if (bytes == 0 || text.size() < bytes) {
    return 0;
  }
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0U) != 0x80) {
      return 0;
    }
    code = (code << 6U) | (at(i) & 0x3FU);
  }
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool is_control = code < 0xA0;
  return code < least || code > 0x10FFFF || is_surrogate || is_control ? 0 : bytes;
}

}  // namespace

std::string clean_name(std::string_view name) {
  std::string kept;
  while (!name.empty()) {
    const std::size_t bytes = character_bytes(name);
    const char first = name.front();
    if (is_space(first) || first == ',') {
      if (!kept.empty() && kept.back() != '_') {
        kept += '_';
      }
    } else if (bytes > 1 || (bytes == 1 && first >= ' ' && first != 0x7F)) {
      if (kept.size() + bytes > kNameBytesMax) {
        break;
      }
      kept += name.substr(0, bytes);
    }
    name.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  kept.resize(std::min(kept.size(), kNameBytesMax));
  while (!kept.empty() && kept.back() == '_') {
    kept.pop_back();
  }
  return kept;
}

bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

double clean_value(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace rubato::launch::metrics
