// How far a training job has come in its data.
#pragma once

#include <cstdint>

namespace rubato {

/// Steps committed, and where the next one begins.
struct DataCursor {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // In the order of the epoch.

  friend bool operator==(const DataCursor&, const DataCursor&) = default;
};

}  // namespace rubato
