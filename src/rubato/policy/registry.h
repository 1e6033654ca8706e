// Policies by name. A new scheduler is one line in policy/registered.inc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato {

/// In alphabetical order.
[[nodiscard]] std::span<const PolicyInfo> all_policies();

/// Makes `name` or `name:option=value,option=value`; the error suggests the nearest spelling.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view name_and_options);

}  // namespace rubato
