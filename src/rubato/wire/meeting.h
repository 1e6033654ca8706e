// The memory by which the workers of a generation meet on a host. The conductor makes it, the
// workers use it; only its size is agreed between them.
#pragma once

#include <cstddef>

namespace rubato {

/// Bytes of it; all zero before anyone has mapped it. Only what is touched costs memory.
constexpr std::size_t kMeetingBytes = std::size_t{8} << 20U;

}  // namespace rubato
