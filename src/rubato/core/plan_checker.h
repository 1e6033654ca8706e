// Checks decisions and plans without knowing which policy made them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rubato/core/decision.h"
#include "rubato/core/job_table.h"

namespace rubato {

/// What the pools can give: GPUs that are up and GPUs in use, per pool.
struct PoolUse {
  std::span<const int> capacity{};
  std::span<const int> used{};
};

/// One sentence per fault in this decision: unknown or doubly named job, unknown pool, negative or
/// forbidden count, more GPUs than are up, a plan that is disordered or lies in the past. Costs as
/// much as the decision is long, or as many jobs as are active if it does not keep the others.
[[nodiscard]] std::vector<std::string> check_decision(const Decision& decision, Instant now,
                                                      const JobTable& jobs, const PoolUse& pools);

/// One sentence per moment at which all plans together need more GPUs than a pool has.
[[nodiscard]] std::vector<std::string> check_capacity(std::span<const Plan> plans,
                                                      std::span<const int> capacity);

}  // namespace rubato
