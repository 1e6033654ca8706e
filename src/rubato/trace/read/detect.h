// Which format a trace is in, judged by its first line.
#pragma once

#include <string_view>

namespace rubato {

/// The name of a format, or empty when none fits. `head` starts at the first byte that is not
/// blank and should hold at least the first line.
[[nodiscard]] std::string_view detect_format(std::string_view head);

}  // namespace rubato
