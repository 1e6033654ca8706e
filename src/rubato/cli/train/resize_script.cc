#include "rubato/cli/train/resize_script.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"

namespace rubato {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kSigns = ":;";
constexpr std::int64_t kStepMax = std::int64_t{1} << 53U;

// Reads words and signs one after the other, and remembers the first thing that was wrong.
class ScriptWords {
 public:
  ScriptWords(std::string_view flag, std::string_view text) : flag_(flag), text_(text) { skip(); }

  [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool has_failed() const { return error_.has_value(); }
  [[nodiscard]] Error error() const { return bad_input(error_.value_or("")); }

  // The next word is this one.
  void expect(std::string_view word) {
    const std::string_view found = next();
    if (found == word) {
      take(found);
      return;
    }
    const std::array<std::string_view, 1> meant = {word};
    fail(fmt::format("expected '{}', found {}{}", word, shown(found), suggestion(found, meant)));
  }

  // The next word is a number between these.
  std::int64_t number(std::string_view what, std::int64_t low, std::int64_t high) {
    const std::string_view found = next();
    const auto value = parse_int(found);
    if (!value) {
      fail(fmt::format("expected {}, found {}", what, shown(found)));
      return low;
    }
    if (*value < low || *value > high) {
      fail(fmt::format("{} is {}, it must be between {} and {}", what, *value, low, high));
      return low;
    }
    take(found);
    return *value;
  }

  void fail(std::string_view problem) {
    if (!error_) {
      error_ = fmt::format("{}, character {}: {}", flag_, at_ + 1, problem);
    }
  }

 private:
  [[nodiscard]] std::string_view next() const {
    const std::string_view rest = text_.substr(at_);
    if (!rest.empty() && kSigns.find(rest[0]) != std::string_view::npos) {
      return rest.substr(0, 1);
    }
    return rest.substr(0, rest.find_first_of(" \t\r\n\v\f:;"));
  }
  void take(std::string_view word) {
    at_ += word.size();
    skip();
  }
  void skip() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }
  static std::string shown(std::string_view word) {
    return word.empty() ? "the end" : "'" + std::string(word) + "'";
  }

  std::string_view flag_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> error_{};
};

ScriptedResize read_resize(ScriptWords& words, std::string_view unit) {
  ScriptedResize resize;
  words.expect("at");
  words.expect(unit);
  resize.step = static_cast<std::uint64_t>(words.number(fmt::format("a {}", unit), 0, kStepMax));
  words.expect(":");
  resize.workers = static_cast<int>(words.number("a number of workers", 1, kScriptWorkersMax));
  return resize;
}

ScriptedFault read_fault(ScriptWords& words, std::string_view unit) {
  ScriptedFault fault;
  words.expect("worker");
  fault.worker = static_cast<int>(words.number("a worker", 0, kScriptWorkersMax - 1));
  words.expect("at");
  words.expect(unit);
  fault.step = static_cast<std::uint64_t>(words.number(fmt::format("a {}", unit), 0, kStepMax));
  return fault;
}

// All entries between semicolons, sorted.
template <typename Entry, typename ReadEntry>
Result<std::vector<Entry>> read_entries(ScriptWords& words, ReadEntry read_entry) {
  std::vector<Entry> entries;
  while (!words.is_at_end() && !words.has_failed()) {
    if (entries.size() == kScriptEntriesMax) {
      words.fail(fmt::format("more than {} entries", kScriptEntriesMax));
      break;
    }
    entries.push_back(read_entry(words));
    if (!words.is_at_end()) {
      words.expect(";");
    }
  }
  if (words.has_failed()) {
    return words.error();
  }
  std::ranges::sort(entries);
  return entries;
}

Error given_twice(std::string_view flag, std::string_view what) {
  return bad_input(fmt::format("{}: {} is given twice", flag, what));
}

}  // namespace

Result<std::vector<ScriptedResize>> parse_resizes(std::string_view flag, std::string_view text,
                                                  std::string_view unit) {
  ScriptWords words(flag, text);
  auto resizes = read_entries<ScriptedResize>(
      words, [&](ScriptWords& entry) { return read_resize(entry, unit); });
  if (resizes) {
    const auto twice = std::ranges::adjacent_find(*resizes, {}, &ScriptedResize::step);
    if (twice != resizes->end()) {
      return given_twice(flag, fmt::format("{} {}", unit, twice->step));
    }
  }
  return resizes;
}

Result<std::vector<ScriptedFault>> parse_faults(std::string_view flag, std::string_view text,
                                                std::string_view unit) {
  ScriptWords words(flag, text);
  auto faults = read_entries<ScriptedFault>(
      words, [&](ScriptWords& entry) { return read_fault(entry, unit); });
  if (faults) {
    const auto twice = std::ranges::adjacent_find(*faults);
    if (twice != faults->end()) {
      return given_twice(flag, fmt::format("worker {} at {} {}", twice->worker, unit, twice->step));
    }
  }
  return faults;
}

}  // namespace rubato
