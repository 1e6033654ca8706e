// How much memory a run took.
#pragma once

#include <cstdint>

namespace rubato {

/// The most memory this process has held at once.
[[nodiscard]] std::int64_t peak_rss_bytes();

}  // namespace rubato
