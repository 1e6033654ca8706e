// A command in one string, cut into words as a shell would; nothing is expanded.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// Quotes and backslashes work as in a shell. What only a shell could do (pipes, redirections,
/// variables, patterns) is an error that says so, unless it is quoted.
[[nodiscard]] Result<std::vector<std::string>> shell_words(std::string_view text);

/// The opposite: quoted where needed, ready to be pasted into a shell.
[[nodiscard]] std::string shell_text(std::span<const std::string> words);

}  // namespace rubato
