// The books of ElasticFlow's published simulator: what it believes about each admitted job.
//
// They differ from what the engine knows. A job ends in the books at a round, when the planned end
// (whole slots plus the pause) is over, whether or not its work is done; work after `real_end` does
// not count, and the pause of the last stretch is never worked off.
#pragma once

#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/scaling_curve.h"
#include "rubato/policy/artifact/steps.h"

namespace rubato::policy::artifact {

struct BookedJob {
  JobId id{};
  SpeedId speed{};
  int gpus_max = 0;                  // The cap of its model.
  WholeSeconds deadline = kForever;  // kForever: best effort, never refused.
  double left = 0;                   // Steps, as the books have it.
  int gpus = 0;
  WholeSeconds pause = 0;  // Charged at the last round.
  WholeSeconds end = kForever;
  WholeSeconds real_end = kForever;
  bool has_finished = false;  // The engine said so; in the books it may go on.

  // Within one round:
  std::vector<ScalingPoint> levels{};
  Steps steps{};        // Merged plan.
  double marginal = 0;  // GPU-seconds that one level more would cost, per GPU.
  int next_gpus = 0;    // One level more; `gpus` if there is none.

  [[nodiscard]] bool is_best_effort() const { return deadline == kForever; }
  [[nodiscard]] bool is_late() const { return real_end > deadline; }
};

/// In the order of the last sort; equal keys keep it, so the order itself is state.
using Books = std::vector<BookedJob>;

/// Brings a job from the last round, `elapsed` ago, to `now` at the speed it has had; true if it
/// ends in the books: its planned end is over, or its work is done before that.
[[nodiscard]] bool advance(BookedJob& job, WholeSeconds now, WholeSeconds elapsed, double speed);

/// When the artifact holds its next round after one at `now`: at the earliest end or planned
/// change, but a slot from now at the soonest. A change that does not come before every end as it
/// was without pauses is forgotten. kForever if nothing is due. Arrivals are the caller's business.
[[nodiscard]] WholeSeconds next_round(const Books& books, WholeSeconds now, WholeSeconds slot);

}  // namespace rubato::policy::artifact
