// Which GPUs a tenant is entitled to: neighbouring ones, as many as its share of each pool.
#pragma once

#include <string>
#include <vector>

#include "rubato/policy/planning/use_calendar.h"
#include "rubato/policy/view.h"

namespace rubato::policy::reconstructed {

/// The shares of the cluster; if none were given, all tenants with active jobs are equal.
[[nodiscard]] std::vector<TenantShare> tenants_of(const View& view);

/// GPUs of each node of a pool that belong to each tenant: [tenant][node][0]. Shares are rounded
/// down to whole GPUs, counted along the pool, so that every tenant has whole nodes but for its
/// borders.
[[nodiscard]] std::vector<planning::SiteCapacities> reserves_of(
    const std::vector<TenantShare>& tenants, const Pool& pool, const Topology& topology);

}  // namespace rubato::policy::reconstructed
