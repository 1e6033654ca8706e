// ElasticFlow as its published simulator has it (`ef-accessctrl`), with the defects that make it
// worse than its paper: a baseline whose numbers can be compared with the published ones.
//
// Source: the ElasticFlow artifact (github.com/pkusys/ElasticFlow, Apache-2.0); behaviour only, no
// code. For ElasticFlow as the paper describes it, use the policy `elasticflow`. The defects:
//  1. Batch admission: jobs that arrive within one slot are admitted together or refused together.
//  2. Veto: while any admitted job is planned to be late, every arrival is refused.
//  3. Filling over-reserves (filling.h) and ignores the pauses of resizing, so promises are
//     broken; a refusal is final.
//  4. Spare GPUs go to the job that profits least from them (greedy.h).
//  5. A cap per model, written by hand, instead of the peak of the speed curve (caps.h).
//  6. A job's end is noticed only at a round, after a whole number of slots (books.h); its
//     GPUs idle until then.
//  7. Every round stops every job, changed or not (ArtifactCharge::EveryRound, groups.h).
//  8. Best-effort jobs are planned behind everything else and live on spare GPUs.
// What remains different from the artifact: docs/elasticflow-artifact.md. It knows one GPU type: on
// a cluster with several pools it uses the largest and leaves the others idle.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::artifact {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_elasticflow_artifact(
    const PolicyOptions& options);

[[nodiscard]] PolicyInfo elasticflow_artifact_policy();

}  // namespace rubato::policy::artifact
