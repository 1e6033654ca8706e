// Test support: ranks of jobs that arrived together.
#pragma once

#include <cstdint>

#include "rubato/policy/rounds/priority_fill.h"

namespace rubato::policy::rounds {

[[nodiscard]] inline Rank rank(std::int64_t value, std::uint64_t id) {
  return Rank{value, Instant{}, JobId{id}};
}

}  // namespace rubato::policy::rounds
