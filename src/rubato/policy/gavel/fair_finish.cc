#include "rubato/policy/gavel/fair_finish.h"

#include <algorithm>
#include <limits>

namespace rubato::policy::gavel {
namespace {

// The ratio falls at each step; it is near enough long before.
constexpr int kStepsMax = 30;
constexpr double kStepMin = 1e-7;

// One n-th of each pool, in fractions of time.
std::vector<double> fair_fractions(const Finisher& finisher, std::size_t finishers,
                                   std::span<const int> capacity) {
  std::vector<double> fractions(capacity.size(), 0.0);
  double total = 0;
  for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
    if (finisher.speeds[pool] > 0) {
      fractions[pool] = static_cast<double>(capacity[pool]) /
                        (static_cast<double>(finishers) * finisher.gpus[pool]);
      total += fractions[pool];
    }
  }
  for (double& fraction : fractions) {
    fraction /= std::max(1.0, total);
  }
  return fractions;
}

double speed_of(const Finisher& finisher, const std::vector<double>& fractions) {
  double speed = 0;
  for (std::size_t pool = 0; pool < fractions.size(); ++pool) {
    speed += finisher.speeds[pool] * fractions[pool];
  }
  return speed;
}

double greatest_ratio(std::span<const Finisher> finishers, const std::vector<double>& fair,
                      const std::vector<std::vector<double>>& fractions) {
  double greatest = 0;
  for (std::size_t i = 0; i < finishers.size(); ++i) {
    const double speed = speed_of(finishers[i], fractions[i]);
    const double finish = speed > 0 ? finishers[i].elapsed + finishers[i].work / speed
                                    : std::numeric_limits<double>::infinity();
    greatest = std::max(greatest, finish / fair[i]);
  }
  return greatest;
}

}  // namespace

double fair_speed(const Finisher& finisher, std::size_t finishers, std::span<const int> capacity) {
  return speed_of(finisher, fair_fractions(finisher, finishers, capacity));
}

FairFinish fairest_finish(std::span<const Finisher> finishers, std::span<const int> capacity) {
  FairFinish best;
  std::vector<double> fair;  // Fair finish, in seconds from arrival.
  std::vector<Claim> claims;
  for (const Finisher& finisher : finishers) {
    best.fractions.push_back(fair_fractions(finisher, finishers.size(), capacity));
    fair.push_back(finisher.fair_so_far +
                   finisher.work / speed_of(finisher, best.fractions.back()));
    claims.push_back(Claim{.gains = finisher.speeds, .gpus = finisher.gpus});
  }
  best.ratio = greatest_ratio(finishers, fair, best.fractions);
  for (int step = 0; step < kStepsMax; ++step) {
    for (std::size_t i = 0; i < finishers.size(); ++i) {
      const double time_left = best.ratio * fair[i] - finishers[i].elapsed;
      const double needed = finishers[i].work / time_left;
      for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
        claims[i].gains[pool] = finishers[i].speeds[pool] / needed;
      }
    }
    TimeFractions next = max_min_fractions(claims, capacity);
    const double ratio = greatest_ratio(finishers, fair, next.of_claim);
    if (ratio < best.ratio) {
      best.fractions = std::move(next.of_claim);
    }
    if (ratio >= best.ratio * (1 - kStepMin)) {
      best.ratio = std::min(best.ratio, ratio);
      break;
    }
    best.ratio = ratio;
  }
  return best;
}

}  // namespace rubato::policy::gavel
