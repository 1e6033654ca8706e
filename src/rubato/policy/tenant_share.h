// Who may use how much of the cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"

namespace rubato {

/// The part of the cluster that a tenant is entitled to.
struct TenantShare {
  std::string name{};
  double share = 0;  // Of all GPUs; shares add up to 1 at most.

  friend bool operator==(const TenantShare&, const TenantShare&) = default;
};

/// `research=0.5,products=0.3`; the error names the part that is wrong.
[[nodiscard]] Result<std::vector<TenantShare>> parse_tenants(std::string_view text);

/// The text that parse_tenants() reads.
[[nodiscard]] std::string to_string(const std::vector<TenantShare>& tenants);

}  // namespace rubato
