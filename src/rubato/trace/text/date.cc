#include "rubato/trace/text/date.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr std::string_view kPattern = "0000-00-00 00:00:00";

bool matches_pattern(std::string_view text) {
  if (text.size() != kPattern.size()) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const bool fits = kPattern[i] == '0'   ? is_digit
                      : kPattern[i] == ' ' ? text[i] == ' ' || text[i] == 'T'
                                           : text[i] == kPattern[i];
    if (!fits) {
      return false;
    }
  }
  return true;
}

// The digits at [from, from + count); the pattern has been checked.
int digits(std::string_view text, std::size_t from, std::size_t count) {
  return static_cast<int>(parse_int(text.substr(from, count)).value_or(0));
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text) {
  if (!matches_pattern(text)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year{digits(text, 0, 4)},
      std::chrono::month{static_cast<unsigned>(digits(text, 5, 2))},
      std::chrono::day{static_cast<unsigned>(digits(text, 8, 2))}};
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  const bool is_year_known =
      date.year() >= std::chrono::year{1970} && date.year() <= std::chrono::year{2096};
  if (!date.ok() || !is_year_known || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
  return ((std::int64_t{days} * 24 + hour) * 60 + minute) * 60 + second;
}

}  // namespace rubato
