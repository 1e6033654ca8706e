// DPS (TMC'22): an online auction for training jobs in an edge-cloud network.
//
// On arrival A_bestsche looks for the start, the number of workers and the nodes that leave the job
// the most value after paying (window_search.h; together or apart, site_fill.h); if anything is
// left, the job is admitted and pays the posted price, else it is refused. A job runs without a
// break on a constant crew, and only where its data have arrived (region, upload time). What a job
// pays does not depend on what it says it is worth, so saying anything but the truth cannot help
// it.
//
// After the paper, whose price function we do not have. Differences and decisions of ours:
// - Prices: form A, the range learnt from the jobs seen before (price_history.h), by what a job is
//   worth per GPU-second it needs. One price holds for all nodes of a pool, and a crew is charged
//   as if its workers were taken one after another: jobs are not small against the cluster, and
//   with a price per node (as in its worked case) a wide job finds empty nodes at the lowest price
//   until none is left. Equal prices fill the first nodes first.
// - Jobs train by all-reduce: no parameter servers on the engine. The placement has them (its
//   test).
// - Starts are tried on a grid of slots, an eighth of the job's fastest run and growing with
//   distance unless `slot` is given, and where the plans of others end.
// - Plain jobs get a value of their own (job_worth.h). Without a hard deadline they are not refused
//   but wait until there is room, and pay nothing.
// - A job that lost its nodes, or whose run takes longer than planned, is planned anew and pays no
//   more.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/planning/planning_policy.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::pricing {

[[nodiscard]] std::unique_ptr<Policy> make_dps(const planning::PlanningOptions& options);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_dps(const PolicyOptions& options);

[[nodiscard]] PolicyInfo dps_policy();

}  // namespace rubato::policy::pricing
