// One line of a table to its fields: comma, tab or blanks between them, quotes around some.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// Fills `fields`, reusing its strings. A separator of ' ' stands for any run of blanks. With a
/// comma, a field in double quotes may hold commas and, doubled, quotes. False: a quote stays open.
[[nodiscard]] bool split_delimited(std::string_view line, char separator,
                                   std::vector<std::string>& fields);

}  // namespace rubato
