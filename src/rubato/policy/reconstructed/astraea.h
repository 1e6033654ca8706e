// Astraea (TC'22): tenants share a cluster so that nobody is worse off than on a part of their own.
//
// Jobs are collected and decided in batches at doubling intervals (doubling_clock.h). In a batch
// each tenant, the one that has used least of its share first, plans its jobs for nothing within
// the GPUs its share reserves. Then every job may trade its place for a better one in the holes
// that are left anywhere, at a posted price: theta^used - 1 by the use of the whole pool, theta one
// more than the highest value per worker-slot of the batch. Jobs run without a break on a constant
// crew; together on the fullest node that holds it, or apart where there is least room
// (site_fill.h).
//
// Nobody loses by sharing: a job's place in its tenant's reserve is the one it would have on a part
// of its own, and it leaves it only for one that is worth more to it after paying.
//
// After the paper, of which we have one round; batches and trading are reconstructed. Differences:
// - A tenant's reserve is a set of neighbouring GPUs (tenant_reserve.h). A tenant without a share
//   lives on holes. Shares not given are equal.
// - What tenants earn by lending is not paid out: the engine keeps no accounts. Payments are named.
// - Jobs train by all-reduce on at most as many GPUs as they asked for, with a deadline on any
//   number, and wait no longer than `window` slots for a batch. A batch decides on a bounded number
//   of jobs.
// - Plain jobs get a value of their own (job_worth.h). A job that can be worth nothing any more is
//   refused if its deadline is hard or its value given; others wait for the next batch.
// - A job that lost its nodes, or whose run takes longer than planned, takes the earliest finish it
//   can get and pays no more.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::reconstructed {

struct AstraeaOptions {
  Duration slot{};    // Unit of the intervals; zero: the engine's slot, but at least a minute.
  int window = 16;    // Slots at which intervals stop growing.
  int horizon = 100;  // Starts that are tried for a job, an eighth of its fastest run apart.
};

[[nodiscard]] std::unique_ptr<Policy> make_astraea(const AstraeaOptions& options);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_astraea(const PolicyOptions& options);

[[nodiscard]] PolicyInfo astraea_policy();

}  // namespace rubato::policy::reconstructed
