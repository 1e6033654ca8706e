// The text in which policies save their state: one word and whole numbers on each line.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// Borrows the text it was read from.
struct SavedLine {
  std::string_view word{};
  std::vector<std::int64_t> numbers{};
};

void append_line(std::string& state, std::string_view word,
                 std::initializer_list<std::int64_t> numbers);

/// Doubles are saved bit for bit, as whole numbers.
[[nodiscard]] constexpr std::int64_t bits_of(double number) {
  return std::bit_cast<std::int64_t>(number);
}
[[nodiscard]] constexpr double double_of(std::int64_t bits) { return std::bit_cast<double>(bits); }

/// The error names the line.
[[nodiscard]] Result<std::vector<SavedLine>> read_lines(std::string_view state);

/// A line that a policy cannot take: its word is unknown or it has too few numbers.
[[nodiscard]] Error unexpected(const SavedLine& line);

}  // namespace rubato
