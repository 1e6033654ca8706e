#include "rubato/policy/options.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"

namespace rubato {

Result<PolicyOptions> PolicyOptions::parse(std::string_view text) {
  PolicyOptions options;
  while (!text.empty()) {
    std::string_view value = take_until(text, ',');
    const std::string_view pair = value;
    const std::string_view key = trimmed(take_until(value, '='));
    if (key.empty() || pair.find('=') == std::string_view::npos) {
      return bad_input(fmt::format("policy option '{}': expected key=value", pair));
    }
    if (options.find(key) != nullptr) {
      return bad_input(fmt::format("policy option '{}' is given twice", key));
    }
    options.values_.emplace_back(key, trimmed(value));
  }
  return options;
}

Status PolicyOptions::only(std::span<const std::string_view> known) const {
  for (const auto& [key, value] : values_) {
    if (std::ranges::find(known, key) == known.end()) {
      return bad_input(fmt::format("unknown policy option '{}'{}", key, suggestion(key, known)));
    }
  }
  return ok_status();
}

const std::string* PolicyOptions::find(std::string_view key) const {
  for (const auto& [each, value] : values_) {
    if (each == key) {
      return &value;
    }
  }
  return nullptr;
}

Result<double> PolicyOptions::number(std::string_view key, double fallback, double min,
                                     double max) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return fallback;
  }
  const auto number = parse_double(*text);
  if (!number || *number < min || *number > max) {
    return bad_input(
        fmt::format("policy option {}: '{}' is not a number from {} to {}", key, *text, min, max));
  }
  return *number;
}

Result<bool> PolicyOptions::flag(std::string_view key, bool fallback) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return fallback;
  }
  if (*text == "true" || *text == "on" || *text == "1") {
    return true;
  }
  if (*text == "false" || *text == "off" || *text == "0") {
    return false;
  }
  return bad_input(fmt::format("policy option {}: '{}' is neither on nor off", key, *text));
}

Result<std::string> PolicyOptions::word(std::string_view key, std::string_view fallback,
                                        std::span<const std::string_view> known) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return std::string(fallback);
  }
  if (std::ranges::find(known, *text) == known.end()) {
    return bad_input(
        fmt::format("policy option {}: unknown '{}'{}", key, *text, suggestion(*text, known)));
  }
  return *text;
}

Result<std::vector<double>> PolicyOptions::numbers(std::string_view key,
                                                   std::vector<double> fallback) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return fallback;
  }
  std::vector<double> numbers;
  std::string_view left = *text;
  while (!left.empty()) {
    const std::string_view part = take_until(left, '/');
    const auto number = parse_double(part);
    if (!number) {
      return bad_input(fmt::format("policy option {}: '{}' is not a number", key, part));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace rubato
