#include "rubato/trace/read/row.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/trace/read/record_reader.h"
#include "rubato/trace/text/date.h"

namespace rubato {
namespace {

// Whole numbers, also when a table tool has written them as 4.0.
std::optional<std::int64_t> whole_number(std::string_view text) {
  if (const auto number = parse_int(text)) {
    return number;
  }
  constexpr double kExact = 9e15;
  const auto number = parse_double(text);
  const bool is_whole = number && std::fabs(*number) < kExact && std::trunc(*number) == *number;
  return is_whole ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

}  // namespace

std::string_view Row::text(std::size_t column) const {
  const int position = source_.positions[column];
  return position < 0 ? std::string_view{} : source_.fields[static_cast<std::size_t>(position)];
}

double Row::number(std::size_t column, double min, double max) {
  const auto number = parse_double(text(column));
  if (!number || *number < min || *number > max) {
    expected(column, fmt::format("a number from {} to {}", shortest(min), shortest(max)));
    return 0;
  }
  return *number;
}

std::int64_t Row::integer(std::size_t column, std::int64_t min, std::int64_t max) {
  const auto number = whole_number(text(column));
  if (!number || *number < min || *number > max) {
    expected(column, fmt::format("a whole number from {} to {}", min, max));
    return 0;
  }
  return *number;
}

Duration Row::seconds(std::size_t column) {
  const auto number = parse_double(text(column));
  if (!number || *number < 0) {
    expected(column, "seconds, zero or more");
    return Duration{0};
  }
  if (*number > kSecondsMax) {
    expected(column, fmt::format("seconds up to {:.0f}", kSecondsMax),
             "it looks like milliseconds: divide by 1000");
    return Duration{0};
  }
  return exact_seconds(*number);
}

Instant Row::date(std::size_t column) {
  const auto seconds = parse_date(text(column));
  if (!seconds) {
    expected(column, "a date like 2017-10-07 01:11:39");
    return Instant{};
  }
  return Instant{std::chrono::seconds(*seconds)};
}

int Row::gpus(std::size_t column) { return static_cast<int>(integer(column, 1, kGpusMax)); }

void Row::reject(std::size_t column, std::string message, std::string suggestion) {
  is_usable_ = false;
  source_.problems.error(source_.line, source_.columns[column].name, std::move(message),
                         std::move(suggestion));
}

void Row::skip(std::size_t column, const std::string& reason) {
  is_usable_ = false;
  source_.problems.skip(source_.line, source_.columns[column].name, reason);
}

void Row::expected(std::size_t column, const std::string& what, std::string suggestion) {
  const std::string found = has(column) ? "found " + shown(text(column)) : "found nothing";
  reject(column, found + ", expected " + what, std::move(suggestion));
}

}  // namespace rubato
