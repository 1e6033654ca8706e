#include "rubato/report/units.h"

#include <array>
#include <cmath>

#include <fmt/core.h>

namespace rubato {
namespace {

struct TimeUnit {
  double seconds = 1;
  std::string_view name{};
};

constexpr std::array kTimeUnits{
    TimeUnit{86400, "d"}, TimeUnit{3600, "h"},  TimeUnit{60, "min"},
    TimeUnit{1, "s"},     TimeUnit{1e-3, "ms"}, TimeUnit{1e-6, "us"},
};

// Three significant digits, as far as decimals can give them.
int decimals_for(double largest) {
  const double size = std::abs(largest);
  return size >= 100 ? 0 : size >= 10 ? 1 : 2;
}

}  // namespace

std::string Scale::text(double value) const {
  if (!std::isfinite(value)) {
    return "-";
  }
  // Without the sign a rounded zero may carry.
  const std::string text = fmt::format("{:.{}f}", value * factor, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1)
                                                                                   : text;
}

Scale time_scale(double longest_seconds) {
  for (const TimeUnit& unit : kTimeUnits) {
    // A day is only worth its name when there are several of them.
    const double least = unit.seconds >= 86400 ? 10 : 1;
    if (longest_seconds >= unit.seconds * least) {
      return {.factor = 1 / unit.seconds,
              .decimals = decimals_for(longest_seconds / unit.seconds),
              .suffix = unit.name};
    }
  }
  return longest_seconds > 0 ? Scale{.factor = 1e6, .decimals = 2, .suffix = "us"}
                             : Scale{.factor = 1, .decimals = 0, .suffix = "s"};
}

Scale percent_scale() { return {.factor = 100, .decimals = 1, .suffix = "%"}; }

Scale plain_scale(double largest, bool is_whole) {
  return {.factor = 1, .decimals = is_whole ? 0 : decimals_for(largest)};
}

std::string human_seconds(double seconds) {
  const Scale scale = time_scale(std::abs(seconds));
  std::string text = scale.text(seconds);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
  }
  return fmt::format("{} {}", text, scale.suffix);
}

}  // namespace rubato
