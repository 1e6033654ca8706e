#include "rubato/policy/pricing/pricing_policy.h"

namespace rubato::policy::pricing {

void PricingPolicy::observe(const JobState& job, const planning::JobWorth& worth,
                            const View& view) {
  const planning::JobNeeds needs = planning::needs_of(job, view);
  const Duration slot = slot_of(needs.fastest, view);
  const Instant start = round_at(view);
  const Duration horizon = edges_of(job, PoolId{0}, needs.fastest, view).back() - start;
  history_.observe({.best_value = worth.at(later(start, needs.fastest)),
                    .late_value = worth.at(later(start, horizon)),
                    .gpu_time = needs.gpu_time,
                    .top_time = options().by_slot ? to_seconds(slot) : needs.gpu_time,
                    .all_time = view.topology.gpus() * to_seconds(horizon)});
}

}  // namespace rubato::policy::pricing
