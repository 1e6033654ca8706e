// Typed ids: a JobId cannot be handed over where a NodeId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rubato {

/// A number that names one thing of one kind; ordered, so it can break ties.
template <typename Tag>
struct Id {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

}  // namespace rubato

template <typename Tag>
struct std::hash<rubato::Id<Tag>> {
  std::size_t operator()(const rubato::Id<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
