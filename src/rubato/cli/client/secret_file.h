// Tokens, keys and certificates come in files, never on the command line.
#pragma once

#include <string>

#include "rubato/base/result.h"

namespace rubato {

/// All of a file that is not empty; of one with a token only the first line.
[[nodiscard]] Result<std::string> secret_of(const std::string& path, bool is_line);

}  // namespace rubato
