// Chronus: leases of twenty minutes for jobs with deadlines, what is left for all others.
//
// Gao et al., SoCC'21, and its published code. A job with a deadline is guaranteed it if enough
// leases before it are free beside those of all guaranteed jobs (lease_plan.h, lease_book.h);
// otherwise it is demoted. When a lease begins, a program chooses by value who runs in it and keeps
// the rest of its answer as the plan; it spares the coming lease while a demoted job waits. Every
// five minutes GPUs without a lease go to jobs that lost their guarantee, then to demoted and
// best-effort jobs (least GPU time left first), then to guaranteed jobs ahead of their plan (least
// slack times GPUs first), then to jobs whose deadline is out of reach.
//
// Soft deadlines are the steps of a Soft job's value; the last of them is guaranteed, and the
// program aims for the others.
//
// Differences: verdicts are given on arrival and not at the next tick. A job that does not fit
// beside the present plans may make all of them be laid out anew. The program is limited by work
// instead of five seconds, and left out when the present plan cannot be beaten; without an answer
// the present plan stands, which keeps all deadlines. Jobs beyond its limits, latest deadlines
// first, keep their plans, too. Leases are reckoned so that the pauses of this simulator fit in
// beside the margin of the published code. A job that runs over its estimate stays guaranteed as
// long as leases can be found for it. Demoted jobs that will finish within the running lease are
// not stopped in it. Odd quirks of the published code (a second filler with reversed order) are
// left out; where jobs are put is the placer's matter.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/chronus/lease_book.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::chronus {

struct ChronusOptions {
  Duration lease = from_seconds(1200);
  Duration tick = from_seconds(300);
  LeaseBookOptions book{};
};

[[nodiscard]] std::unique_ptr<Policy> make_chronus(ChronusOptions options);

/// `lease=1200,tick=300` in seconds, `tolerance=1`, `jobs_max=400`, `cells_max=1500`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_chronus(const PolicyOptions& options);

[[nodiscard]] PolicyInfo chronus_policy();

}  // namespace rubato::policy::chronus
