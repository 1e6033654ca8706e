// First in, first out: jobs start in the order of their arrival and then run to their end.
//
// The baseline of every scheduling paper and the default of batch systems without backfill. Each
// job runs on the GPUs it asked for, in the first pool that has room, the one in which it is
// fastest ahead of the others. The order is strict: while the first job in line does not fit,
// nobody behind it starts in a pool in which it could run.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::baseline {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_fifo(const PolicyOptions& options);

[[nodiscard]] PolicyInfo fifo_policy();

}  // namespace rubato::policy::baseline
