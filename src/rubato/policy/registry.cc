#include "rubato/policy/registry.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "rubato/base/spelling.h"

namespace rubato {

#define RUBATO_POLICY(room, name) \
  namespace policy::room {        \
  PolicyInfo name##_policy();     \
  }
#include "rubato/policy/registered.inc"
#undef RUBATO_POLICY

std::span<const PolicyInfo> all_policies() {
  static const std::vector<PolicyInfo> kPolicies = [] {
    std::vector<PolicyInfo> policies = {
#define RUBATO_POLICY(room, name) policy::room::name##_policy(),
#include "rubato/policy/registered.inc"
#undef RUBATO_POLICY
    };
    std::ranges::sort(policies, {}, &PolicyInfo::name);
    return policies;
  }();
  return kPolicies;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name_and_options) {
  const std::size_t colon = name_and_options.find(':');
  const std::string_view name = name_and_options.substr(0, colon);
  std::vector<std::string_view> names;
  for (const PolicyInfo& info : all_policies()) {
    if (info.name == name) {
      const auto options = PolicyOptions::parse(colon == std::string_view::npos
                                                    ? std::string_view{}
                                                    : name_and_options.substr(colon + 1));
      return options ? info.make(*options) : Result<std::unique_ptr<Policy>>(options.error());
    }
    names.push_back(info.name);
  }
  return Error{.code = ErrorCode::NotFound,
               .message = fmt::format("unknown policy '{}'{}", name, suggestion(name, names))};
}

}  // namespace rubato
