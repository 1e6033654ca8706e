// Text that shows by itself whether it is whole: a first line with its length and a checksum.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"

namespace rubato {

/// `format` is a word, such as `rubato-checkpoint/1`.
[[nodiscard]] std::string sealed(std::string_view format, std::string_view body);

/// The body, borrowed; an error if it is of another format, was cut or changed.
[[nodiscard]] Result<std::string_view> unsealed(std::string_view format, std::string_view text);

}  // namespace rubato
