// One copy of a policy for each tenant, on the GPUs guaranteed to that tenant, and one for the
// rest.
//
// This is what "a cluster of its own" means to a policy (HiveD, OSDI'20, section 3): each copy sees
// the jobs of its tenant alone and as many GPUs as the tenant is guaranteed, so no tenant's jobs
// stand in another's line. Jobs of best effort, and those that their tenant's GPUs cannot hold,
// share one more copy, which sees the GPUs that are left over at the moment and no deadlines; its
// youngest jobs stop when a tenant takes GPUs back. A tenant that keeps its best effort has such a
// copy of its own: on what its promises leave of its GPUs, and what is idle of others' up to what
// it may borrow (tenant_dues.h). While nodes are down a tenant gets what the others do not hold.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rubato/policy/policy.h"
#include "rubato/policy/tenants/tenant_quotas.h"

namespace rubato::policy::tenants {

/// Each call costs a walk over all jobs. A change of a copy's GPUs is told to it as a
/// NodeChange of a node that is as it was.
[[nodiscard]] std::unique_ptr<Policy> split_by_tenant(
    std::vector<TenantGpus> tenants, const std::function<std::unique_ptr<Policy>()>& make);

}  // namespace rubato::policy::tenants
