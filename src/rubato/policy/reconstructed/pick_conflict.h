// When several agents pick the same task: who gets it.
//
// TapFinger (INFOCOM'23): each agent's weight is the softmax, over the agents, of how many times
// the task's least demand fits into what the agent has free, at its scarcest resource; times the
// probability with which it picked the task; normalised. The highest wins, the others do nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rubato::policy::reconstructed {

/// One agent that wants the task.
struct Pick {
  double probability = 0;  // With which the agent picked it.
  double room = 0;         // Least, over resources, of free amount by least demand.
};

/// Least quotient of free amount and demand; resources that are not demanded do not count.
[[nodiscard]] double room_for(std::span<const double> free, std::span<const double> demand);

/// Adds up to one. There must be at least one pick.
[[nodiscard]] std::vector<double> posterior_of(std::span<const Pick> picks);

/// Index of the highest posterior, ties to the first.
[[nodiscard]] std::size_t winner_of(std::span<const Pick> picks);

}  // namespace rubato::policy::reconstructed
