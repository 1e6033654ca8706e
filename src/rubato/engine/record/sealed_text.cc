#include "rubato/engine/record/sealed_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>

namespace rubato {
namespace {

// FNV-1a over 64 bits: meant for accidents, not for attackers, who could write any state anyway.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char letter : text) {
    sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return sum;
}

std::string seal(std::string_view format, std::string_view body) {
  return fmt::format("{} bytes={} sum={:016x}\n", format, body.size(), checksum(body));
}

}  // namespace

std::string sealed(std::string_view format, std::string_view body) {
  std::string text = seal(format, body);
  text += body;
  return text;
}

Result<std::string_view> unsealed(std::string_view format, std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string_view first = text.substr(0, end);
  if (const std::string_view word = first.substr(0, first.find(' ')); word != format) {
    return bad_input(fmt::format("'{}' expected, '{}' found", format, word.substr(0, 64)));
  }
  if (end == std::string_view::npos) {
    return bad_input(fmt::format("{}: cut off in its first line", format));
  }
  const std::string_view body = text.substr(end + 1);
  if (seal(format, body) != text.substr(0, end + 1)) {
    return bad_input(
        fmt::format("{}: the {} bytes that follow are not those that were written: '{}' expected",
                    format, body.size(), first.substr(0, 128)));
  }
  return body;
}

}  // namespace rubato
