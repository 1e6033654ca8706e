// Foreign text made harmless: names of jobs and policies come from traces and may hold anything.
#pragma once

#include <string>
#include <string_view>

namespace rubato {

/// For the text of an HTML element and for attribute values in double or single quotes.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// For JSON inside a <script> element: the same JSON without <, > and &, so that no string in it
/// can end the element or start a comment.
[[nodiscard]] std::string script_safe(std::string_view json);

/// A JSON string with its quotes; bytes that are not UTF-8 become replacement characters.
[[nodiscard]] std::string json_quoted(std::string_view text);

/// At most `bytes_max` bytes, cut between UTF-8 characters, with an ellipsis if anything is
/// missing.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t bytes_max);

}  // namespace rubato
