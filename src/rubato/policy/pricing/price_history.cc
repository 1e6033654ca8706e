#include "rubato/policy/pricing/price_history.h"

#include <algorithm>
#include <bit>

namespace rubato::policy::pricing {

void PriceHistory::observe(const PriceSample& sample) {
  if (!(sample.best_value > 0 && sample.gpu_time > 0 && sample.top_time > 0 &&
        sample.all_time > 0)) {
    return;  // Worth nothing whenever it ends: says nothing about prices.
  }
  const double late_rate = sample.late_value / sample.gpu_time;
  const double share = std::min(1.0, sample.gpu_time / sample.all_time);
  high_ = std::max(high_, sample.best_value / sample.top_time);
  late_rate_ = is_empty_ ? late_rate : std::min(late_rate_, late_rate);
  share_ = is_empty_ ? share : std::min(share_, share);
  is_empty_ = false;
}

planning::PriceCurve PriceHistory::curve(double estimate) const {
  if (is_empty_) {
    return planning::PriceCurve{};
  }
  const double low = std::clamp(share_ * late_rate_ / 4, high_ / kRatioMax, high_);
  return planning::low_to_high(low, std::max(low, estimate * high_));
}

void PriceHistory::save(std::string& state) const {
  if (!is_empty_) {
    append_line(state, "prices",
                {std::bit_cast<std::int64_t>(high_), std::bit_cast<std::int64_t>(late_rate_),
                 std::bit_cast<std::int64_t>(share_)});
  }
}

bool PriceHistory::restore(const SavedLine& line) {
  if (line.word != "prices" || line.numbers.size() != 3) {
    return false;
  }
  high_ = std::bit_cast<double>(line.numbers[0]);
  late_rate_ = std::bit_cast<double>(line.numbers[1]);
  share_ = std::bit_cast<double>(line.numbers[2]);
  is_empty_ = false;
  return true;
}

}  // namespace rubato::policy::pricing
