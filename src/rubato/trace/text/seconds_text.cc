#include "rubato/trace/text/seconds_text.h"

#include <fmt/format.h>

namespace rubato {

std::string seconds_text(Duration span) {
  constexpr std::int64_t kMicros = 1'000'000;
  const std::int64_t whole = span.count() / kMicros;
  const std::int64_t rest = span.count() % kMicros;
  if (rest == 0) {
    return std::to_string(whole);
  }
  // The sign is written apart: -0.5 has a whole part of 0, which has no sign of its own.
  std::string text = fmt::format("{}{}.{:06}", span.count() < 0 ? "-" : "",
                                 whole < 0 ? -whole : whole, rest < 0 ? -rest : rest);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace rubato
