#include "rubato/spec/deadline_text.h"

#include <array>
#include <cctype>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/spec/duration_text.h"

namespace rubato {
namespace {

constexpr std::array<std::string_view, 7> kDayNames = {"sun", "mon", "tue", "wed",
                                                       "thu", "fri", "sat"};
constexpr std::size_t kFractionMax = 9;  // Digits of a second.

// The number that a fixed place of the text holds, if it is within bounds.
std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t count, int most) {
  if (at + count > text.size()) {
    return std::nullopt;
  }
  int number = 0;
  for (const char digit : text.substr(at, count)) {
    if (digit < '0' || digit > '9') {
      return std::nullopt;
    }
    number = number * 10 + (digit - '0');
  }
  return number <= most ? std::optional(number) : std::nullopt;
}

// `HH:MM` as time since midnight.
std::optional<Duration> clock_time(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') {
    return std::nullopt;
  }
  const auto hour = digits_at(text, 0, 2, 23);
  const auto minute = digits_at(text, 3, 2, 59);
  return hour && minute
             ? std::optional<Duration>(std::chrono::hours(*hour) + std::chrono::minutes(*minute))
             : std::nullopt;
}

// `Z` or `+02:00`.
std::optional<Duration> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") {
    return Duration{0};
  }
  if (text.empty() || (text[0] != '+' && text[0] != '-')) {
    return std::nullopt;
  }
  const auto ahead = clock_time(text.substr(1));
  if (!ahead) {
    return std::nullopt;
  }
  return text[0] == '-' ? -*ahead : *ahead;
}

// `2030-01-31` as time since the epoch.
std::optional<Duration> calendar_date(std::string_view text) {
  const auto year = digits_at(text, 0, 4, 9999);
  const auto month = digits_at(text, 5, 2, 12);
  const auto day = digits_at(text, 8, 2, 31);
  if (!year || !month || !day || text.size() != 10 || text[4] != '-' || text[7] != '-') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch();
}

// `18:00:00` or `18:00:00.25` at the start of the text, which it is taken from.
std::optional<Duration> take_time(std::string_view& text) {
  const auto begin = clock_time(text.substr(0, 5));
  const auto second = digits_at(text, 6, 2, 60);
  if (!begin || !second || text[5] != ':') {
    return std::nullopt;
  }
  text.remove_prefix(8);
  Duration micros{0};
  if (!text.empty() && text[0] == '.') {
    std::size_t count = 0;
    while (count + 1 < text.size() &&
           std::isdigit(static_cast<unsigned char>(text[count + 1])) != 0) {
      ++count;
    }
    const auto fraction = parse_double("0" + std::string(text.substr(0, count + 1)));
    if (count == 0 || count > kFractionMax || !fraction) {
      return std::nullopt;
    }
    micros = from_seconds(*fraction);
    text.remove_prefix(count + 1);
  }
  return *begin + std::chrono::seconds(*second) + micros;
}

// 0 (Sunday) to 6.
std::optional<unsigned> day_of_week(std::string_view word) {
  for (unsigned day = 0; day < kDayNames.size() && word.size() >= 3; ++day) {
    bool is_same = true;
    for (std::size_t i = 0; i < 3; ++i) {
      is_same = is_same && std::tolower(static_cast<unsigned char>(word[i])) == kDayNames[day][i];
    }
    if (is_same) {
      return day;
    }
  }
  return std::nullopt;
}

// The moment at which local clocks show this. Clocks change at most once in two days.
Instant from_local(Duration local, const ZoneOffset& zone) {
  const Duration before = zone(Instant{local} - std::chrono::days(1));
  const Duration after = zone(Instant{local} + std::chrono::days(1));
  const Instant first = Instant{local} - before;
  const Instant second = Instant{local} - after;
  if (zone(first) == before || zone(second) != after) {
    return first;
  }
  return second;
}

// The next moment after now at which local clocks show this time, on this day if one is given.
Instant next_local(Duration since_midnight, std::optional<unsigned> weekday,
                   const WallClock& clock) {
  const Duration local_now = clock.now.time_since_epoch() + clock.zone(clock.now);
  const auto today = std::chrono::floor<std::chrono::days>(local_now);
  for (int ahead = 0;; ++ahead) {
    const std::chrono::days date = today + std::chrono::days(ahead);
    const std::chrono::weekday found{std::chrono::sys_days(date)};
    const Instant moment = from_local(Duration(date) + since_midnight, clock.zone);
    if (moment > clock.now && (!weekday || found.c_encoding() == *weekday)) {
      return moment;
    }
  }
}

// `18:00` or `Sat 02:00`.
std::optional<Instant> parse_local(std::string_view text, const WallClock& clock) {
  const std::size_t gap = text.find(' ');
  if (gap == std::string_view::npos) {
    const auto time = clock_time(text.size() == 4 ? "0" + std::string(text) : std::string(text));
    return time ? std::optional(next_local(*time, std::nullopt, clock)) : std::nullopt;
  }
  const auto day = day_of_week(text.substr(0, gap));
  const auto time = clock_time(trimmed(text.substr(gap)));
  return day && time ? std::optional(next_local(*time, day, clock)) : std::nullopt;
}

}  // namespace

Result<Instant> parse_rfc3339(std::string_view text) {
  std::string_view rest = trimmed(text);
  const auto date = calendar_date(rest.substr(0, 10));
  if (date && rest.size() > 19 && (rest[10] == 'T' || rest[10] == 't' || rest[10] == ' ')) {
    rest.remove_prefix(11);
    const auto time = take_time(rest);
    const auto ahead = offset_of(rest);
    if (time && ahead) {
      return Instant{*date + *time - *ahead};
    }
  }
  return bad_input(
      fmt::format("found '{}', expected a moment with its zone such as 2030-01-31T18:00:00Z or "
                  "2030-01-31T18:00:00+01:00",
                  text));
}

std::string rfc3339_text(Instant moment) {
  const Duration since = moment.time_since_epoch();
  const auto date = std::chrono::floor<std::chrono::days>(since);
  const std::chrono::year_month_day parts{std::chrono::sys_days(date)};
  const std::chrono::hh_mm_ss time(since - date);
  const auto micros = time.subseconds().count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(parts.year()),
                     static_cast<unsigned>(parts.month()), static_cast<unsigned>(parts.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     micros == 0 ? "" : fmt::format(".{:06}", micros));
}

Result<Instant> resolve_deadline(std::string_view text, const WallClock& clock) {
  std::string_view word = trimmed(text);
  if (const auto local = parse_local(word, clock)) {
    return *local;
  }
  if (const auto absolute = parse_rfc3339(word)) {
    return *absolute;
  }
  if (word.starts_with("now+")) {
    word.remove_prefix(4);
  }
  if (const auto span = parse_duration(word)) {
    return later(clock.now, *span);
  }
  return bad_input(fmt::format(
      "found '{}', expected a moment: 18:00, 'Sat 02:00', 6h, now+6h or 2030-01-31T18:00:00Z",
      text));
}

}  // namespace rubato
