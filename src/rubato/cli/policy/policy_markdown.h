// docs/policies.md, made from the registry: what schedulers there are and when to use which.
#pragma once

#include <span>
#include <string>

#include "rubato/policy/policy_info.h"

namespace rubato {

/// The whole page; its table has one row for each policy, in the order given.
[[nodiscard]] std::string policy_markdown(std::span<const PolicyInfo> policies);

}  // namespace rubato
