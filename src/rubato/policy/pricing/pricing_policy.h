// What policies share that judge each job when it arrives, at prices learnt from the jobs before
// it: OASiS and DPS.
#pragma once

#include <string>

#include "rubato/policy/planning/planning_policy.h"
#include "rubato/policy/pricing/price_history.h"

namespace rubato::policy::pricing {

class PricingPolicy : public planning::PlanningPolicy {
 protected:
  using planning::PlanningPolicy::PlanningPolicy;

  /// Prices by what has been seen so far.
  [[nodiscard]] planning::PriceCurve prices() const { return history_.curve(options().estimate); }
  /// Learns from a job that has been judged.
  void observe(const JobState& job, const planning::JobWorth& worth, const View& view);

  void save_more(std::string& state) const final { history_.save(state); }
  [[nodiscard]] bool restore_more(const SavedLine& line) final { return history_.restore(line); }
  void clear_more() final { history_ = PriceHistory{}; }

 private:
  PriceHistory history_;
};

}  // namespace rubato::policy::pricing
