// Test support: whether jobs can all be given what they need of two pools, by an exchange argument
// and not by a linear program.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace rubato::policy::gavel {

/// Jobs that each need `worth` from fractions of time in two pools.
struct TwoPoolNeed {
  double worth = 0;
  std::array<double, 2> gains{};  // Both positive.
  std::array<double, 2> gpus{};   // Of all the jobs together.
};

/// Every need leaves one freedom, its time in the first pool. All start with the least; then those
/// for whom a GPU of the first pool replaces the most GPUs of the second take what is left of it.
[[nodiscard]] inline bool can_serve(std::span<const TwoPoolNeed> needs, double first_gpus,
                                    double second_gpus) {
  struct Trade {
    double saved = 0;  // GPUs of the second pool for one of the first.
    double gpus = 0;   // Of the first, at most.
  };
  std::vector<Trade> trades;
  std::array<double, 2> used{};
  for (const TwoPoolNeed& need : needs) {
    const auto [here, there] = need.gains;
    // Time here, x, makes up the rest there: x + (worth - here x) / there must not exceed 1.
    const double all_there = need.worth / there;
    const double slope = 1 - here / there;
    double low = 0;
    double high = std::min(1.0, need.worth / here);
    if (slope > 0) {
      high = std::min(high, (1 - all_there) / slope);
    } else if (all_there > 1) {
      low = slope < 0 ? (1 - all_there) / slope : 2;
    }
    if (low > high * (1 + 1e-12)) {
      return false;
    }
    used[0] += need.gpus[0] * low;
    used[1] += need.gpus[1] * (need.worth - here * low) / there;
    trades.push_back(
        {.saved = need.gpus[1] * here / there / need.gpus[0], .gpus = need.gpus[0] * (high - low)});
  }
  std::ranges::sort(trades, std::ranges::greater{}, &Trade::saved);
  double left = first_gpus - used[0];
  for (const Trade& trade : trades) {
    const double taken = std::clamp(left, 0.0, trade.gpus);
    left -= taken;
    used[1] -= taken * trade.saved;
  }
  return used[0] <= first_gpus * (1 + 1e-12) && used[1] <= second_gpus * (1 + 1e-12);
}

}  // namespace rubato::policy::gavel
