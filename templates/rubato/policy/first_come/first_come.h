// First come, first widened: everyone runs on few workers, what is left goes in order of arrival.
//
// A starting point: say here what the scheduler does, which paper and section it follows, and every
// difference from it and why. At a round all admitted jobs stand in order of arrival. Each in turn
// gets the fewest workers it can run on, if so many are free in its pool; then each in turn gets as
// many of the remaining ones as make it faster. Nothing is promised.
#pragma once

#include "rubato/policy/policy_info.h"

namespace rubato::policy::first_come {

struct FirstComeOptions {
  int workers_max = 1024;  // The most workers one job gets, unless it cannot run on fewer.
};

[[nodiscard]] PolicyInfo first_come_policy();

}  // namespace rubato::policy::first_come
