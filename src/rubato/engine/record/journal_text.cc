#include "rubato/engine/record/journal_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr std::string_view kNeverWord = "never";

// Everything that cannot be mistaken for the end of a field, a line or an escape.
bool is_plain(char letter) { return letter > ' ' && letter < '\x7f' && letter != '%'; }

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (is_plain(letter)) {
      result += letter;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
  }
  return result;
}

template <typename Number>
std::optional<Number> whole(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const auto code = whole<std::uint8_t>(text.substr(i + 1, 2), 16);
    if (!code || i + 2 >= text.size()) {
      return std::nullopt;
    }
    result += static_cast<char>(*code);
    i += 2;
  }
  return result;
}

// A journal holds what happened, sense or not, so unlike elsewhere these are numbers, too.
std::optional<double> any_double(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "inf" || text == "-inf") {
    return text == "inf" ? kInfinity : -kInfinity;
  }
  if (text == "nan" || text == "-nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return parse_double(text);
}

// The items between commas, each read by `parse`; nothing if one cannot be read.
template <typename Item, typename Parse>
std::optional<std::vector<Item>> list(std::string_view text, Parse parse) {
  std::vector<Item> items;
  while (!text.empty()) {
    const std::optional<Item> item = parse(take_until(text, ','));
    if (!item) {
      return std::nullopt;
    }
    items.push_back(*item);
  }
  return items;
}

std::optional<GpuRange> range(std::string_view text) {
  const auto first = whole<int>(take_until(text, '+'));
  const auto count = whole<int>(text);
  return first && count ? std::optional(GpuRange{.first = *first, .count = *count}) : std::nullopt;
}

std::optional<ValueStep> value_step(std::string_view text) {
  const auto within = whole<std::int64_t>(take_until(text, ':'));
  const auto amount = any_double(text);
  return within && amount ? std::optional(ValueStep{.within = Duration{*within}, .amount = *amount})
                          : std::nullopt;
}

std::optional<PlanSegment> plan_segment(std::string_view text) {
  const auto from = whole<std::int64_t>(take_until(text, ':'));
  const auto to = whole<std::int64_t>(take_until(text, ':'));
  const auto workers = whole<int>(text);
  return from && to && workers ? std::optional(PlanSegment{.from = Instant{Duration{*from}},
                                                           .to = Instant{Duration{*to}},
                                                           .workers = *workers})
                               : std::nullopt;
}

std::optional<ScalingPoint> scaling_point(std::string_view text) {
  const auto workers = whole<int>(take_until(text, ':'));
  const auto speed = parse_double(text);
  const bool is_sensible = workers && speed && *workers > 0 && *speed > 0;
  return is_sensible ? std::optional(ScalingPoint{.workers = *workers, .speed = *speed})
                     : std::nullopt;
}

// Points of rising workers; nothing if they are not, or if there are none.
std::optional<std::vector<ScalingPoint>> rising_points(std::string_view text) {
  auto points = list<ScalingPoint>(text, scaling_point);
  const auto does_not_rise = [](const ScalingPoint& left, const ScalingPoint& right) {
    return left.workers >= right.workers;
  };
  const bool rises = points && !points->empty() &&
                     std::ranges::adjacent_find(*points, does_not_rise) == points->end();
  return rises ? points : std::nullopt;
}

std::string joined(const auto& items, auto text_of) {
  std::string text;
  for (const auto& item : items) {
    text += (text.empty() ? "" : ",") + text_of(item);
  }
  return text;
}

}  // namespace

void LineWriter::put(std::string_view name, std::string_view value) {
  text_ += ' ';
  text_ += name;
  text_ += '=';
  text_ += value;
}

void LineWriter::field(std::string_view name, bool value) { put(name, value ? "yes" : "no"); }

void LineWriter::field(std::string_view name, int value) { put(name, std::to_string(value)); }

void LineWriter::field(std::string_view name, std::uint64_t value) {
  put(name, std::to_string(value));
}

void LineWriter::field(std::string_view name, double value) { put(name, shortest(value)); }

void LineWriter::field(std::string_view name, Duration value) {
  put(name, std::to_string(value.count()));
}

void LineWriter::field(std::string_view name, Instant value) {
  put(name,
      value == kNever ? std::string(kNeverWord) : std::to_string(value.time_since_epoch().count()));
}

void LineWriter::field(std::string_view name, const std::string& value) {
  put(name, escaped(value));
}

void LineWriter::field(std::string_view name, const std::vector<int>& value) {
  put(name, joined(value, [](int each) { return std::to_string(each); }));
}

void LineWriter::field(std::string_view name, const std::vector<GpuRange>& value) {
  put(name, joined(value, [](const GpuRange& each) {
        return fmt::format("{}+{}", each.first, each.count);
      }));
}

void LineWriter::field(std::string_view name, const std::vector<ValueStep>& value) {
  put(name, joined(value, [](const ValueStep& each) {
        return fmt::format("{}:{}", each.within.count(), shortest(each.amount));
      }));
}

void LineWriter::field(std::string_view name, const std::vector<PlanSegment>& value) {
  put(name, joined(value, [](const PlanSegment& each) {
        return fmt::format("{}:{}:{}", each.from.time_since_epoch().count(),
                           each.to.time_since_epoch().count(), each.workers);
      }));
}

void LineWriter::field(std::string_view name, const std::vector<std::int64_t>& value) {
  put(name, joined(value, [](std::int64_t each) { return std::to_string(each); }));
}

void LineWriter::optional_field(std::string_view name, const std::vector<ScalingPoint>& value) {
  if (!value.empty()) {
    put(name, joined(value, [](const ScalingPoint& each) {
          return fmt::format("{}:{}", each.workers, shortest(each.speed));
        }));
  }
}

void LineWriter::optional_field(std::string_view name, double value) {
  if (value != 0) {
    field(name, value);
  }
}

void LineWriter::optional_field(std::string_view name, Instant value) {
  if (value != kNever) {
    field(name, value);
  }
}

std::string_view LineReader::word() { return take_until(rest_, ' '); }

bool LineReader::take(std::string_view name, std::string_view& value) {
  if (!problem_.empty()) {
    return false;
  }
  value = word();
  const std::string_view found = take_until(value, '=');
  if (found != name) {
    problem_ = found.empty() ? fmt::format("field '{}' is missing", name)
                             : fmt::format("field '{}' expected, '{}' found", name, found);
    return false;
  }
  return true;
}

void LineReader::fail(std::string_view name, std::string_view value, std::string_view expected) {
  problem_ = fmt::format("{}: '{}' is not {}", name, value, expected);
}

template <typename Value, typename Parse>
void LineReader::read(std::string_view name, Value& value, std::string_view expected, Parse parse) {
  std::string_view text;
  if (!take(name, text)) {
    return;
  }
  if (auto parsed = parse(text)) {
    value = *std::move(parsed);
  } else {
    fail(name, text, expected);
  }
}

void LineReader::field(std::string_view name, bool& value) {
  constexpr std::array<std::string_view, 2> kWords = {"no", "yes"};
  value = index_of(name, kWords, value ? 1 : 0) == 1;
}

void LineReader::field(std::string_view name, int& value) {
  read(name, value, "a whole number", [](std::string_view text) { return whole<int>(text); });
}

void LineReader::field(std::string_view name, std::uint64_t& value) {
  read(name, value, "a whole number",
       [](std::string_view text) { return whole<std::uint64_t>(text); });
}

void LineReader::field(std::string_view name, double& value) {
  read(name, value, "a number", any_double);
}

void LineReader::field(std::string_view name, Duration& value) {
  read(name, value, "a number of microseconds", [](std::string_view text) {
    const auto micros = whole<std::int64_t>(text);
    return micros ? std::optional(Duration{*micros}) : std::nullopt;
  });
}

void LineReader::field(std::string_view name, Instant& value) {
  read(name, value, "a number of microseconds or 'never'", [](std::string_view text) {
    if (text == kNeverWord) {
      return std::optional(kNever);
    }
    const auto micros = whole<std::int64_t>(text);
    return micros ? std::optional(Instant{Duration{*micros}}) : std::nullopt;
  });
}

void LineReader::field(std::string_view name, std::string& value) {
  read(name, value, "a text with %XX for special characters", unescaped);
}

void LineReader::field(std::string_view name, std::vector<int>& value) {
  read(name, value, "a list of whole numbers", [](std::string_view text) {
    return list<int>(text, [](std::string_view item) { return whole<int>(item); });
  });
}

void LineReader::field(std::string_view name, std::vector<GpuRange>& value) {
  read(name, value, "a list of FIRST+COUNT",
       [](std::string_view text) { return list<GpuRange>(text, range); });
}

void LineReader::field(std::string_view name, std::vector<ValueStep>& value) {
  read(name, value, "a list of MICROSECONDS:AMOUNT",
       [](std::string_view text) { return list<ValueStep>(text, value_step); });
}

void LineReader::field(std::string_view name, std::vector<PlanSegment>& value) {
  read(name, value, "a list of FROM:TO:WORKERS",
       [](std::string_view text) { return list<PlanSegment>(text, plan_segment); });
}

void LineReader::field(std::string_view name, std::vector<std::int64_t>& value) {
  read(name, value, "a list of whole numbers", [](std::string_view text) {
    return list<std::int64_t>(text,
                              [](std::string_view item) { return whole<std::int64_t>(item); });
  });
}

void LineReader::optional_field(std::string_view name, std::vector<ScalingPoint>& value) {
  if (is_next(name)) {
    read(name, value, "a list of WORKERS:STEPS_PER_SECOND, positive and with rising workers",
         rising_points);
  }
}

void LineReader::optional_field(std::string_view name, double& value) {
  if (is_next(name)) {
    field(name, value);
  }
}

void LineReader::optional_field(std::string_view name, Instant& value) {
  if (is_next(name)) {
    field(name, value);
  }
}

bool LineReader::is_next(std::string_view name) const {
  return rest_.starts_with(name) && rest_.substr(name.size()).starts_with('=');
}

std::size_t LineReader::index_of(std::string_view name, EnumWords words, std::size_t fallback) {
  std::string_view text;
  if (!take(name, text)) {
    return fallback;
  }
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) {
    fail(name, text, fmt::format("one of {}", fmt::join(words, ", ")));
    return fallback;
  }
  return static_cast<std::size_t>(found - words.begin());
}

std::string LineReader::problem() {
  if (problem_.empty() && !rest_.empty()) {
    problem_ = fmt::format("nothing more expected, '{}' found", rest_);
  }
  return problem_;
}

}  // namespace rubato
