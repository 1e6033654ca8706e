// A quick hash of memory, to compare the parameters of workers. Not for anything an enemy could
// choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rubato {

[[nodiscard]] std::uint64_t content_hash(std::span<const std::byte> bytes);

}  // namespace rubato
