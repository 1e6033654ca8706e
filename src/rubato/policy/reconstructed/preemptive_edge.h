// Preemptive scheduling in edge-cloud networks: the densest work first, where it delays all least.
//
// "Preemptive scheduling for distributed machine learning jobs in edge-cloud networks" (JSAC'22):
// at its arrival each job's chunks go, one by one, to the worker where they add least to the sum of
// all delays (density_queue.h), upload of its data included; each worker then runs its chunks
// highest density first and keeps preempted ones. Edge and cloud are regions of the cluster.
//
// Differences: the engine runs a job in one pool, so all chunks go to the pool that is best for the
// first one, and the paper's slower speed of jobs split between edge and cloud cannot occur. A
// job's chunks are its workers (the GPUs it asked for), all of one length, taken from its speed
// with all of them; what is left is corrected by the work really done. Where the job accepts only
// certain numbers of workers, chunks wait for each other, and others use their workers meanwhile.
// The cloud has as many workers as its nodes have, with queues like the edge's; parameter servers
// are not placed. The paper minimises flow time and looks at no deadline; nor does this.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::reconstructed {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_preemptive_edge(const PolicyOptions& options);

[[nodiscard]] PolicyInfo preemptive_edge_policy();

}  // namespace rubato::policy::reconstructed
