// The text of a CSV file to the cells of the columns that are asked for, found by name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// One line of data: `cells` in the order the columns were asked for, pointing into the text.
struct NamedRow {
  std::size_t line = 0;
  std::vector<std::string_view> cells{};
};

/// The trimmed texts between commas, pointing into the line.
[[nodiscard]] std::vector<std::string_view> comma_fields(std::string_view line);

/// Other columns and blank lines are passed over. A missing column, a short line and a file
/// without a header are errors that name the place.
[[nodiscard]] Result<std::vector<NamedRow>> named_columns(std::string_view text,
                                                          std::string_view file,
                                                          std::span<const std::string_view> wanted);

}  // namespace rubato
