// TapFinger's agents with a greedy rule in place of their trained networks.
//
// Li et al., INFOCOM'23: one agent for each edge cluster picks one of the tasks it sees, then how
// much of its resources the task gets, masked to what the task needs at least and what is free;
// conflicts between agents are settled by pick_conflict.h; all repeat until nobody starts anything.
//
// Differences: (1) no network: an agent picks the task that finishes most per GPU and second: one
// over its time left on the smallest count, upload included; with a probability in proportion;
// (2) agents are pools, so regions and GPU types; the only resource is the GPU; (3) tasks start on
// their smallest count; when nobody starts any more, what is left goes GPU block by GPU block to
// the task with the highest marginal rate per GPU; shares are decided anew at each round, but a
// started task keeps its smallest count and its pool; (4) the paper halves a step's progress at a
// reallocation (`switch=0.5`): a task grows only if that saves more time than so many slots.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::reconstructed {

struct TapfingerOptions {
  double switch_slots = 0.5;  // Slots of progress lost by a reallocation.
};

[[nodiscard]] std::unique_ptr<Policy> make_tapfinger_greedy(TapfingerOptions options);

/// `switch=0.5` (slots).
[[nodiscard]] Result<std::unique_ptr<Policy>> make_tapfinger_greedy(const PolicyOptions& options);

[[nodiscard]] PolicyInfo tapfinger_greedy_policy();

}  // namespace rubato::policy::reconstructed
