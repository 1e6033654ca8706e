#include "rubato/predict/named_columns.h"

#include <algorithm>

#include <fmt/core.h>

#include "rubato/base/parse.h"
#include "rubato/base/spelling.h"

namespace rubato {
namespace {

// Where each wanted column stands.
Result<std::vector<std::size_t>> places_of(const std::vector<std::string_view>& names,
                                           std::span<const std::string_view> wanted,
                                           std::string_view where) {
  std::vector<std::size_t> places;
  for (const std::string_view column : wanted) {
    const auto found = std::ranges::find(names, column);
    if (found == names.end()) {
      const std::string_view nearest = nearest_spelling(column, names);
      return bad_input(fmt::format("{}: column '{}' is missing{}", where, column,
                                   nearest.empty() ? "" : fmt::format("; is it '{}'?", nearest)));
    }
    places.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  return places;
}

// The first line of the text, trimmed; the text loses it.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::vector<std::string_view> comma_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return fields;
    }
    line.remove_prefix(comma + 1);
  }
}

Result<std::vector<NamedRow>> named_columns(std::string_view text, std::string_view file,
                                            std::span<const std::string_view> wanted) {
  std::vector<NamedRow> rows;
  std::vector<std::size_t> places;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (line.empty()) {
      continue;
    }
    const std::vector<std::string_view> fields = comma_fields(line);
    if (places.empty()) {
      auto found = places_of(fields, wanted, fmt::format("{}:{}", file, number));
      if (!found) {
        return found.error();
      }
      places = *std::move(found);
      continue;
    }
    const std::size_t needed = 1 + std::ranges::max(places);
    if (fields.size() < needed) {
      return bad_input(
          fmt::format("{}:{}: {} columns found, {} expected", file, number, fields.size(), needed));
    }
    NamedRow row{.line = number};
    for (const std::size_t place : places) {
      row.cells.push_back(fields[place]);
    }
    rows.push_back(std::move(row));
  }
  if (places.empty()) {
    return bad_input(fmt::format("{}: empty; expected a header line", file));
  }
  return rows;
}

}  // namespace rubato
