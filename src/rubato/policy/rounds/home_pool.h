// Which pool each job belongs to, under policies that share out every pool by itself.
//
// A running job stays where it is. Who waits goes, oldest first, to the pool in which it would run
// fastest on an equal part of what is up there; its data's way to that region does not count.
#pragma once

#include <span>

#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::rounds {

/// Sets the pool of every seat. A job that can run in no pool that is up keeps a pool without room.
void choose_home_pools(const View& view, std::span<Seat> seats);

}  // namespace rubato::policy::rounds
