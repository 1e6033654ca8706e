// The text of one journal line: words, then `name=value` fields in a fixed order.
//
// Reader and writer take the same calls, so one description of a struct serves both and they cannot
// drift apart. Values are exact: times are whole microseconds, doubles the shortest text that reads
// back as the same bits, and strings have all but plain characters written as %XX.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/base/id.h"
#include "rubato/base/time.h"
#include "rubato/core/placement.h"
#include "rubato/core/plan.h"
#include "rubato/core/scaling_curve.h"
#include "rubato/core/value.h"

namespace rubato {

/// A struct, for writing as const, for reading not: what describes a struct's fields takes both.
template <typename Given, typename Wanted>
concept Is = std::same_as<std::remove_const_t<Given>, Wanted>;

/// The words for the values of an enum, in their order.
using EnumWords = std::span<const std::string_view>;

class LineWriter {
 public:
  explicit LineWriter(std::string_view words) : text_(words) {}

  void field(std::string_view name, bool value);
  void field(std::string_view name, int value);
  void field(std::string_view name, std::uint64_t value);
  void field(std::string_view name, double value);
  void field(std::string_view name, Duration value);
  void field(std::string_view name, Instant value);
  void field(std::string_view name, const std::string& value);
  void field(std::string_view name, const std::vector<int>& value);
  void field(std::string_view name, const std::vector<GpuRange>& value);
  void field(std::string_view name, const std::vector<ValueStep>& value);
  void field(std::string_view name, const std::vector<PlanSegment>& value);
  void field(std::string_view name, const std::vector<std::int64_t>& value);
  /// A field that is there only if it says something: what has none is written as it always was.
  void optional_field(std::string_view name, const std::vector<ScalingPoint>& value);
  void optional_field(std::string_view name, double value);
  void optional_field(std::string_view name, Instant value);
  template <typename Tag>
  void field(std::string_view name, const Id<Tag>& value) {
    field(name, value.value);
  }
  template <typename Enum>
  void choice(std::string_view name, const Enum& value, EnumWords words) {
    put(name, words[static_cast<std::size_t>(value)]);
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  void put(std::string_view name, std::string_view value);

  std::string text_;
};

/// Borrows the line. After the first problem every further field is left as it is.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  /// The next blank-separated word; empty at the end.
  std::string_view word();

  void field(std::string_view name, bool& value);
  void field(std::string_view name, int& value);
  void field(std::string_view name, std::uint64_t& value);
  void field(std::string_view name, double& value);
  void field(std::string_view name, Duration& value);
  void field(std::string_view name, Instant& value);
  void field(std::string_view name, std::string& value);
  void field(std::string_view name, std::vector<int>& value);
  void field(std::string_view name, std::vector<GpuRange>& value);
  void field(std::string_view name, std::vector<ValueStep>& value);
  void field(std::string_view name, std::vector<PlanSegment>& value);
  void field(std::string_view name, std::vector<std::int64_t>& value);
  void optional_field(std::string_view name, std::vector<ScalingPoint>& value);
  void optional_field(std::string_view name, double& value);
  void optional_field(std::string_view name, Instant& value);
  template <typename Tag>
  void field(std::string_view name, Id<Tag>& value) {
    field(name, value.value);
  }
  template <typename Enum>
  void choice(std::string_view name, Enum& value, EnumWords words) {
    value = static_cast<Enum>(index_of(name, words, static_cast<std::size_t>(value)));
  }

  /// What is wrong with the line; empty if it was read to its end without a problem.
  [[nodiscard]] std::string problem();

 private:
  [[nodiscard]] bool take(std::string_view name, std::string_view& value);
  [[nodiscard]] bool is_next(std::string_view name) const;
  [[nodiscard]] std::size_t index_of(std::string_view name, EnumWords words, std::size_t fallback);
  void fail(std::string_view name, std::string_view value, std::string_view expected);
  template <typename Value, typename Parse>
  void read(std::string_view name, Value& value, std::string_view expected, Parse parse);

  std::string_view rest_;
  std::string problem_;
};

}  // namespace rubato
