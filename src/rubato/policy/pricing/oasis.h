// OASiS (Bao et al., INFOCOM'18): a job is admitted if it is worth more than its GPU time costs.
//
// Each GPU has a price at each moment, rising exponentially with how much of the pool is planned
// for that moment (exponential_price.h; section IV, equations 10 to 13). On arrival the schedule
// with the highest value less price is found (server_search.h, algorithm 2), over time and with a
// number of workers that changes from slot to slot. A payoff above zero admits the job at that
// price, and the schedule is followed to the end; otherwise the job is refused.
//
// Differences from the paper:
// - Jobs train by all-reduce on a measured curve instead of beside parameter servers at linear
//   speed; progress per slot is rounded down. The search itself has the servers (see its test).
// - A pool is one site: which nodes hold the workers is left to the placer, so that a job is not
//   moved from slot to slot. A job stays in one pool, the one with the highest payoff.
// - The program runs over worker-slots instead of data chunks: the same optimum, far fewer states.
// - Slots are an eighth of the job's fastest run and grow with distance unless `slot` is given;
//   the last one is cut where the work will be done. The price is what it was with the whole slot.
// - The range of prices is learnt from the jobs seen so far (price_history.h), clamped, and halved.
//   The highest one is what the dearest job would pay per GPU-second it needs; in the paper, for a
//   single worker-slot (`range=slot`), which here leaves a third of the cluster idle.
// - Jobs are not small against the cluster, so a worker is charged as if those of the same slot
//   were taken one after another, each at the price the one before leaves behind. With one price
//   for all of them the first job of an empty cluster takes everything for next to nothing.
// - Plain jobs get a value of their own (job_worth.h). Without a hard deadline they are not refused
//   but planned at any price, or wait.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/planning/planning_policy.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::pricing {

[[nodiscard]] std::unique_ptr<Policy> make_oasis(const planning::PlanningOptions& options);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_oasis(const PolicyOptions& options);

[[nodiscard]] PolicyInfo oasis_policy();

}  // namespace rubato::policy::pricing
