// Conservative backfill: first come, first served, but a later job may start early if it delays
// nobody ahead of it.
//
// Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, the "conservative" variant. Every job in line, in
// order of arrival, gets a reservation: the earliest stretch of its estimated run time in which its
// GPUs are free beside all running jobs and all reservations ahead of it, in any pool that can hold
// it (the one in which it is fastest on a tie). Whoever's stretch begins now starts. Estimates are
// work left over speed plus the pause of a start, so exact without faults.
//
// Differences: reservations are made anew at each round instead of being kept, which gives the same
// starts when estimates hold and never starves the head of the line when they do not. Only the
// first `depth` jobs in line are looked at, and none once no GPU is free: that bounds a round.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::baseline {

struct BackfillOptions {
  int depth = 10'000;  // Jobs in line that get a reservation.
};

[[nodiscard]] std::unique_ptr<Policy> make_backfill(BackfillOptions options);

/// `depth=10000`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_backfill(const PolicyOptions& options);

[[nodiscard]] PolicyInfo backfill_policy();

}  // namespace rubato::policy::baseline
