#include "rubato/spec/duration_text.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr double kSecondsMax = 10 * 366 * 86'400.0;

struct DurationUnit {
  std::string_view letters{};
  std::int64_t seconds = 0;
};

constexpr std::array<DurationUnit, 4> kDurationUnits = {
    {{"d", 86'400}, {"h", 3'600}, {"m", 60}, {"s", 1}}};

// Seconds of a unit; nothing for any other word.
std::optional<std::int64_t> unit_seconds(std::string_view letters) {
  for (const DurationUnit& unit : kDurationUnits) {
    if (unit.letters == letters) {
      return unit.seconds;
    }
  }
  return std::nullopt;
}

bool is_number_letter(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0 || letter == '.';
}

// Seconds of `1h30m`: numbers and units in turn.
std::optional<double> seconds_of(std::string_view text) {
  double seconds = 0;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && is_number_letter(text[digits])) {
      ++digits;
    }
    std::size_t end = digits;
    while (end < text.size() && !is_number_letter(text[end])) {
      ++end;
    }
    const auto number = parse_double(text.substr(0, digits));
    const auto unit = unit_seconds(text.substr(digits, end - digits));
    if (!number || !unit) {
      return std::nullopt;
    }
    seconds += *number * static_cast<double>(*unit);
    text.remove_prefix(end);
  }
  return seconds;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto seconds = seconds_of(trimmed(text));
  if (!seconds || !(*seconds > 0) || *seconds > kSecondsMax) {
    return bad_input(fmt::format(
        "found '{}', expected a length of time such as 90s, 15m, 6h or 2d, at most ten years",
        text));
  }
  return from_seconds(*seconds);
}

std::string duration_text(Duration span) {
  auto left = span.count() / 1'000'000;
  std::string text;
  for (const DurationUnit& unit : kDurationUnits) {
    if (const auto count = left / unit.seconds; count > 0) {
      text += fmt::format("{}{}", count, unit.letters);
      left -= count * unit.seconds;
    }
  }
  return text.empty() ? "0s" : text;
}

}  // namespace rubato
