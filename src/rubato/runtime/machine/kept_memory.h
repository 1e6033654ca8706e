// Memory that one step frees is kept for the next one. A step allocates the same activations and
// gradients as the step before; given back to the kernel in between, they are cleared and mapped
// anew, page by page, which took up to a fifth of a step.
#pragma once

#include <cstddef>

namespace rubato {

/// What a process may hold without using it; a block larger than that is always given back.
constexpr std::size_t kKeptBytesMax = std::size_t{1} << 30U;

/// Tells the C library so, unless the environment already tells it something about memory. False
/// if nothing was changed.
bool keep_freed_memory();

}  // namespace rubato
