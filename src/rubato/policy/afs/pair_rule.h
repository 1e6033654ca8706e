// The two rules of AFS for which of two jobs gets the next GPUs (Hwang et al., NSDI'21).
//
// Known lengths: give the next GPUs to the shorter job a rather than to b if
//   (p_a' - p_a) / p_a  >  (p_b' - p_b) / p_b'
// with speeds now (p) and after (p'). The denominators differ on purpose: the rule compares the
// summed completion times when b is not assumed to gain more than p_b' once a has finished. Of two
// jobs without GPUs the one that would be shorter wins. Gains are per GPU added, since counts are
// taken block by block.
//
// The relation is not transitive: three jobs can beat each other in a circle, so whoever scans a
// list of jobs with it must fix the order.
#pragma once

#include "rubato/core/scaling_curve.h"

namespace rubato::policy::afs {

/// What a job would make of its next GPUs.
struct GrowthBid {
  double length = 0;         // Time left at the present share; infinite without GPUs.
  double length_after = 0;   // Time left with the next GPUs.
  double gain_if_short = 0;  // (p' - p) / p per GPU added; infinite without GPUs.
  double gain_if_long = 0;   // (p' - p) / p' per GPU added.
};

/// `work` steps are left; `now` is {0, 0} for a job without GPUs, `next` has more workers.
[[nodiscard]] GrowthBid bid_of(double work, const ScalingPoint& now, const ScalingPoint& next);

/// Known lengths: true if `challenger` goes before `leader`, which stands earlier in the order and
/// counts as the shorter one when they are equally long.
[[nodiscard]] bool beats_by_length(const GrowthBid& challenger, const GrowthBid& leader);

/// Unknown lengths: who gets the GPUs whichever job is shorter; Open if that depends on it.
enum class Winner { Challenger, Leader, Open };
[[nodiscard]] Winner winner_at_any_length(const GrowthBid& challenger, const GrowthBid& leader);

}  // namespace rubato::policy::afs
