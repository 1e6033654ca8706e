// `rubato policy new NAME`: a policy that works, to be changed into the one that is wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

struct NewPolicyRequest {
  std::string name{};
  std::string dir = "src/rubato/policy";
};

/// Writes header, source and test into a new folder of `dir` and one line into its registered.inc;
/// returns the paths. Refuses what exists already; after a failure everything is as it was.
[[nodiscard]] Result<std::vector<std::string>> write_new_policy(const NewPolicyRequest& request);

/// Runs it; prints what was written and what to do next.
[[nodiscard]] int run_policy_new(const NewPolicyRequest& request);

}  // namespace rubato
