// What the registry and its readers know about a policy without running it.
#pragma once

#include <memory>
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
  std::string_view use_when;   // One clause.
  std::string_view options{};  // "thresholds=3250/7200 (GPU-s)", empty if none.
  Result<std::unique_ptr<Policy>> (*make)(const PolicyOptions& options) = nullptr;
};

}  // namespace rubato
