// Learns the range of prices from the jobs seen so far (OASiS, section IV; DPS alike).
//
// The highest price is what the dearest job seen would pay for one unit of what it needs least of;
// the lowest is such that an empty cluster, sold at it, brings in no more than a quarter of what
// one job is worth: high = max value / top_time, low = 1/4 * min share * min late_value / gpu_time,
// where share is the part of all GPU time up to the horizon that a job needs (1/eta in the paper).
//
// High over low is clamped (steep value functions make the low price nothing) and taken as half of
// what it is: by the paper's figure 6 a guess that is too low is better than an exact one, and one
// that is too high is much worse.
#pragma once

#include <string>

#include "rubato/base/result.h"
#include "rubato/policy/planning/exponential_price.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::pricing {

/// What one job says about prices; times in GPU-seconds, all positive.
struct PriceSample {
  double best_value = 0;  // If it finishes as early as it can.
  double late_value = 0;  // If it finishes at the horizon.
  double gpu_time = 0;    // The least it needs.
  double top_time = 0;    // One worker for one slot (OASiS) or `gpu_time` (DPS).
  double all_time = 0;    // Of the whole cluster up to the horizon.
};

class PriceHistory {
 public:
  static constexpr double kRatioMax = 1e4;

  void observe(const PriceSample& sample);

  /// Per worker and second; `estimate` is the part of high over low that is believed.
  [[nodiscard]] planning::PriceCurve curve(double estimate) const;

  void save(std::string& state) const;
  /// True if the line was one of save().
  [[nodiscard]] bool restore(const SavedLine& line);

 private:
  double high_ = 0;
  double late_rate_ = 0;  // Least late value per GPU-second.
  double share_ = 0;      // Least part of all GPU time.
  bool is_empty_ = true;
};

}  // namespace rubato::policy::pricing
