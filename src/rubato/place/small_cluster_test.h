// Test support: clusters as text, most of them with one pool.
#pragma once

#include <string_view>

#include "rubato/core/topology.h"

namespace rubato {

inline constexpr PoolId kPool{0};

[[nodiscard]] inline Topology cluster(std::string_view text) {
  return Topology::parse(text).value();
}

}  // namespace rubato
