// Policies by name: the one place where a new scheduler is added.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/policy/options.h"
#include "rubato/policy/policy.h"

namespace rubato {

/// How true to its source a policy is, in the words of `rubato policy list`.
struct PolicyInfo {
  std::string_view name;
  std::string_view paper;
  std::string_view fidelity;   // "exact", "after <paper>", ...
  std::string_view objective;  // One clause.
  std::string_view needs;      // "speed curve, deadline", ...
  std::string_view options;    // "thresholds=3250/7200 (GPU-s)", empty if none.
  Result<std::unique_ptr<Policy>> (*make)(const PolicyOptions& options);
};

[[nodiscard]] std::span<const PolicyInfo> all_policies();

/// Makes `name` or `name:option=value,option=value`; the error suggests the nearest spelling.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view name_and_options);

}  // namespace rubato
