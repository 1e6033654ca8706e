// Counted things are ints here; containers want std::size_t.
#pragma once

#include <cstddef>

namespace rubato {

/// Where a container holds the element of this number, which is not negative.
[[nodiscard]] constexpr std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace rubato
