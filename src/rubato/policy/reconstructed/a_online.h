// A_online (MobiHoc'20; TCC'22): weighted completion time of jobs on constant crews, in batches.
//
// Jobs are collected and decided in batches at doubling intervals (doubling_clock.h). A batch is
// packed into windows by weight per worker-slot and by prices that start at nothing in each window
// (dual_batch.h; A_dual, A_maxweight); a job takes the cheapest number of workers and nodes,
// together on one or apart (window_search.h; A_mincost). It runs without a break and everybody is
// admitted.
//
// After the paper, of which we have the outline. Differences and decisions of ours:
// - The order of jobs in a window and the bases of prices are reconstructed.
// - A batch starts when it is due, in whatever room earlier ones leave; in theory it waits for
//   alpha times as long. Intervals stop growing at `window` slots. A window is never shorter than
//   the fastest run of its longest job: nobody waits only for intervals to grow.
//   So that others do not idle along in it, crews take at most twice as long as the fastest.
// - After each batch, jobs that have not begun move forward into room that has become free: windows
//   leave gaps at their ends.
// - Jobs train by all-reduce, on at most as many GPUs as they asked for. The placement has the
//   parameter servers (its test, and that of dual_batch).
// - A batch decides on a bounded number of jobs, those with most weight per worker-slot; the rest
//   wait for the next one. Starts within a window are tried at eight moments.
// - A job that lost its nodes, or whose run takes longer than planned, takes the earliest finish it
//   can get.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::reconstructed {

struct AOnlineOptions {
  Duration slot{};  // Unit of the intervals; zero: the engine's slot, but at least a minute.
  int window = 16;  // Slots at which intervals stop growing.
};

[[nodiscard]] std::unique_ptr<Policy> make_a_online(const AOnlineOptions& options);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_a_online(const PolicyOptions& options);

[[nodiscard]] PolicyInfo a_online_policy();

}  // namespace rubato::policy::reconstructed
