// The end of a verb that cannot go on.
#pragma once

#include <string_view>

#include "rubato/base/result.h"

namespace rubato {

/// Tells the user on standard error, after the verb's name; the exit code to end with.
[[nodiscard]] int fail_verb(std::string_view verb, const Error& error);

}  // namespace rubato
