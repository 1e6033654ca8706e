// "Did you mean ...?": the nearest valid spelling of a word the user got wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rubato {

/// The candidate with the fewest edits, or empty when none is close enough to be meant.
[[nodiscard]] std::string_view nearest_spelling(std::string_view word,
                                                std::span<const std::string_view> candidates);

/// "; did you mean 'x'?" or nothing: ready to be appended to an error message.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string_view> candidates);

}  // namespace rubato
