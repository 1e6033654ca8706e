// Hands out the GPUs that promises leave over, where they cost the least extra GPU time.
//
// ElasticFlow (ASPLOS'23), Algorithm 2. For a job planned at n workers, m > n workers now save
// later GPU time; what remains as extra cost per added GPU is (m - n T(m)/T(n)) / (m - n): zero if
// it scales linearly, one if the added GPUs bring nothing. Smallest first. Differences: the cost is
// this closed form instead of planning the rest of the job anew for each candidate step (they agree
// for plans of one level); jobs keep the size they have before others are raised, since every
// change costs a pause; a step is only taken if it ends the job earlier, pauses included.
#pragma once

#include <functional>
#include <vector>

#include "rubato/core/job_state.h"
#include "rubato/core/scaling_curve.h"

namespace rubato::policy::elasticflow {

/// One job that could use GPUs of a pool at this round.
struct Contender {
  Contender(const JobState& job, const ScalingCurve& its_curve, int promised, int its_turn)
      : state(&job),
        curve(&its_curve),
        floor(promised),
        turn(its_turn),
        share(job.share),
        arrival(job.job.arrival),
        id(job.id()) {}

  const JobState* state;
  const ScalingCurve* curve;
  int floor;        // Promised now; given before anything is shared out.
  int turn;         // Among jobs with no floor: lower turns start first.
  int workers = 0;  // Result.

  // Of the state, copied while it is at hand: jobs lie scattered in memory and are asked often.
  int share;
  Instant arrival;
  JobId id;
};

struct SpareRules {
  /// True if the job gains by going from its present share to this many workers.
  std::function<bool(const Contender&, int workers)> finishes_sooner{};
  /// True if its promise still holds after that change; asked at most once for each new size.
  std::function<bool(const Contender&, int workers)> try_resize_within_promise{};
};

/// Fills `workers` of all contenders; `gpus` is what the pool has up. Ties by (arrival, id).
void share_out(std::vector<Contender>& contenders, int gpus, const SpareRules& rules);

/// Extra GPU time per added GPU of the step from n to m workers, from 0 (free) to 1 (wasted).
[[nodiscard]] double step_cost(const ScalingCurve& curve, int from, int to);

}  // namespace rubato::policy::elasticflow
