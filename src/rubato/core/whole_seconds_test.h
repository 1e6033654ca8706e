// Test support: instants in the small numbers that tests like.
#pragma once

#include <chrono>
#include <cstdint>

#include "rubato/base/time.h"

namespace rubato {

[[nodiscard]] inline Instant at(std::int64_t seconds) {
  return Instant{std::chrono::seconds{seconds}};
}

}  // namespace rubato
