#include "rubato/launch/metrics/until_rule.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"

namespace rubato::launch::metrics {
namespace {

constexpr std::string_view kExpected = "expected NAME >= NUMBER, such as accuracy >= 0.9";
constexpr std::size_t kRuleBytesMax = 256;
constexpr std::uint64_t kOthersBeforeWarning = 20;  // Reports of one other metric.
constexpr std::size_t kNamesTold = 8;

/// How a comparison is written.
struct ComparisonSign {
  std::string_view text{};
  Comparison comparison = Comparison::AtLeast;
  std::string_view turned{};  // With both sides exchanged.
};

// Longer ones first, since `>` begins `>=`.
constexpr std::array<ComparisonSign, 4> kSigns = {{{">=", Comparison::AtLeast, "<="},
                                                   {"<=", Comparison::AtMost, ">="},
                                                   {">", Comparison::Above, "<"},
                                                   {"<", Comparison::Below, ">"}}};

/// What others write for it.
struct OtherSign {
  std::string_view theirs{};
  std::string_view ours{};
};
constexpr std::array<OtherSign, 8> kOtherSigns = {{{"=>", ">="},
                                                   {"=<", "<="},
                                                   {"\u2265", ">="},
                                                   {"\u2264", "<="},
                                                   {"==", ">="},
                                                   {" at least ", " >= "},
                                                   {" at most ", " <= "},
                                                   {"=", ">="}}};

/// A rule cut into its parts; the sign is empty if there is none.
struct RuleParts {
  std::string_view name{};
  std::string_view sign{};
  std::string_view rest{};
};

RuleParts cut(std::string_view text) {
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos) {
    return {.name = trimmed(text)};
  }
  const std::size_t length = at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1;
  return {.name = trimmed(text.substr(0, at)),
          .sign = text.substr(at, length),
          .rest = trimmed(text.substr(at + length))};
}

Error not_a_rule(std::string_view text, std::string_view why) {
  return bad_input(fmt::format("found '{}', {}", text.substr(0, kRuleBytesMax), why));
}

// 0.9, or 90% for the same.
std::optional<double> parse_bound(std::string_view text) {
  if (text.ends_with('%')) {
    const auto percent = parse_double(trimmed(text.substr(0, text.size() - 1)));
    return percent ? std::optional(*percent / 100) : std::nullopt;
  }
  return parse_double(text);
}

// The words of a text, which white space parts.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = trimmed(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

// Whether a metric could be called so: no number, and nothing that a second condition begins with.
bool is_name(std::string_view text) {
  return !text.empty() && !parse_bound(text) && !clean_name(text).empty() &&
         text.find_first_of("=!,;|&\"'") == std::string_view::npos;
}

std::string with_ours(std::string_view text, const OtherSign& sign) {
  std::string changed(text);
  const std::size_t at = changed.find(sign.theirs);
  if (at == std::string::npos) {
    return {};
  }
  return changed.replace(at, sign.theirs.size(), sign.ours);
}

// The sides exchanged, if the number stands in front: `0.9 <= accuracy`.
std::string turned(std::string_view text) {
  const RuleParts parts = cut(text);
  for (const ComparisonSign& sign : kSigns) {
    if (sign.text == parts.sign && parse_bound(parts.name)) {
      return fmt::format("{} {} {}", parts.rest, sign.turned, parts.name);
    }
  }
  return {};
}

// With the words after the number as they should be: `for 3 epochs` and `fro 3` are `for 3`.
std::string with_patience(std::string_view text) {
  const RuleParts parts = cut(text);
  const auto words = words_of(parts.rest);
  if (parts.sign.empty() || words.size() < 2 || !parse_bound(words[0])) {
    return {};
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (const auto count = parse_int(words[i]); count && *count > 0) {
      return fmt::format("{} {} {} for {}", parts.name, parts.sign, words[0], *count);
    }
  }
  return {};
}

}  // namespace

Result<UntilRule> parse_until(std::string_view text) {
  if (text.size() > kRuleBytesMax) {
    return not_a_rule(text, fmt::format("expected at most {} letters", kRuleBytesMax));
  }
  const RuleParts parts = cut(trimmed(text));
  const auto sign = std::ranges::find(kSigns, parts.sign, &ComparisonSign::text);
  if (sign == kSigns.end() || !is_name(parts.name)) {
    return not_a_rule(text, kExpected);
  }
  const auto words = words_of(parts.rest);
  const auto bound = words.empty() ? std::nullopt : parse_bound(words[0]);
  if (!bound) {
    return not_a_rule(text, fmt::format("expected a number after {}, such as {} {} 0.9", parts.sign,
                                        parts.name, parts.sign));
  }
  UntilRule rule{.name = clean_name(parts.name), .comparison = sign->comparison, .bound = *bound};
  if (words.size() == 1) {
    return rule;
  }
  const auto patience = words.size() == 3 && words[1] == "for" ? parse_int(words[2]) : std::nullopt;
  if (!patience || *patience < 1 || *patience > kPatienceMax) {
    return not_a_rule(text,
                      fmt::format("expected nothing after {}, or `for N` for N reports in a row, "
                                  "from 1 to {}",
                                  words[0], kPatienceMax));
  }
  rule.patience = static_cast<int>(*patience);
  return rule;
}

std::string nearest_until(std::string_view text) {
  text = trimmed(text);
  if (text.size() > kRuleBytesMax) {
    return {};
  }
  std::vector<std::string> guesses{std::string(text), turned(text), with_patience(text)};
  for (const OtherSign& sign : kOtherSigns) {
    const std::string changed = with_ours(text, sign);
    guesses.push_back(changed);
    guesses.push_back(turned(changed));
    guesses.push_back(with_patience(changed));
  }
  for (const std::string& guess : guesses) {
    if (const auto rule = parse_until(guess)) {
      return to_string(*rule);
    }
  }
  return {};
}

std::string to_string(const UntilRule& rule) {
  const auto sign = std::ranges::find(kSigns, rule.comparison, &ComparisonSign::comparison);
  return fmt::format("{} {} {}{}", rule.name, sign->text, shortest(rule.bound),
                     rule.patience > 1 ? fmt::format(" for {}", rule.patience) : "");
}

bool holds(const UntilRule& rule, double value) {
  switch (rule.comparison) {
    case Comparison::AtLeast:
      return value >= rule.bound;
    case Comparison::AtMost:
      return value <= rule.bound;
    case Comparison::Above:
      return value > rule.bound;
    case Comparison::Below:
      return value < rule.bound;
  }
  return false;
}

std::optional<UntilReached> UntilWatch::take(const Metric& metric) {
  if (!is_same_name(metric.name, rule_.name)) {
    if (!is_seen_ && (others_.size() < kNamesTold || others_.contains(metric.name))) {
      ++others_[metric.name];
    }
    return std::nullopt;
  }
  is_seen_ = true;
  if (is_reached_) {
    return std::nullopt;
  }
  run_ = holds(rule_, metric.value) ? run_ + 1 : 0;
  if (run_ < rule_.patience) {
    return std::nullopt;
  }
  is_reached_ = true;
  return UntilReached{.value = metric.value, .step = metric.step};
}

std::string UntilWatch::take_warning() {
  const bool is_late = std::ranges::any_of(
      others_, [](const auto& other) { return other.second >= kOthersBeforeWarning; });
  if (is_seen_ || is_warned_ || !is_late) {
    return {};
  }
  is_warned_ = true;
  std::vector<std::string_view> names;
  for (const auto& [name, count] : others_) {
    names.emplace_back(name);
  }
  return fmt::format("--until {}: no metric has that name so far; there is {}{}", to_string(rule_),
                     fmt::join(names, ", "), suggestion(rule_.name, names));
}

std::string until_note(const UntilRule& rule, const UntilReached& reached, double steps_max) {
  return fmt::format("ended by --until {} ({} at step {}{})", to_string(rule),
                     fmt::format("{:.6g}", reached.value), reached.step,
                     steps_max > 0 ? fmt::format(" of at most {:.0f}", steps_max) : "");
}

}  // namespace rubato::launch::metrics
