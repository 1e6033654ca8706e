// The example of docs/new-policy.md: of those who wait the job that asks for the fewest GPUs starts
// first. Not part of the program; new_policy_test compiles it, so that the document stays true.
#pragma once

#include "rubato/policy/policy_info.h"

namespace rubato::policy::smallest_first {

[[nodiscard]] PolicyInfo smallest_first_policy();

}  // namespace rubato::policy::smallest_first
