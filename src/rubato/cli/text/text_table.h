// Aligned columns for a terminal; the heads are stable, so scripts may cut by them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// Columns of a terminal that a text takes: letters of UTF-8, without what only sets colours.
[[nodiscard]] std::size_t shown_width(std::string_view text);

class TextTable {
 public:
  /// Heads that begin with '>' are of columns aligned to the right.
  explicit TextTable(std::vector<std::string> heads);

  /// An empty cell is shown as '-'.
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text() const;

 private:
  std::vector<bool> is_right_{};
  std::vector<std::vector<std::string>> rows_{};
};

}  // namespace rubato
