#include "rubato/policy/gavel/gavel_las.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "rubato/policy/gavel/time_fractions.h"

namespace rubato::policy::gavel {
namespace {

// The most kinds of jobs in one program; beyond it the pools are shared out one by one.
constexpr std::size_t kKindsMax = 1000;

constexpr double kWeightMin = 1e-6;

// The paper's equal share: the pool's GPUs over the number of jobs, no more than all the time.
std::vector<double> equal_share(std::size_t jobs, const View& view) {
  std::vector<double> share;
  double total = 0;
  for (const int gpus : view.capacity) {
    share.push_back(static_cast<double>(gpus) / static_cast<double>(jobs));
    total += share.back();
  }
  for (double& part : share) {
    part /= std::max(1.0, total);
  }
  return share;
}

Claim claim_of(const RoundContender& contender, const std::vector<double>& equal,
               const View& view) {
  Claim claim{.gains = std::vector<double>(view.capacity.size(), 0.0),
              .gpus = std::vector<int>(view.capacity.size(), 0)};
  double reference = 0;
  for (std::size_t i = 0; i < contender.gangs.size(); ++i) {
    const rounds::Gang& gang = contender.gangs[i];
    claim.gains[gang.pool.value] = contender.speed(i, view) * gang.workers;
    claim.gpus[gang.pool.value] = gang.workers;
    reference += contender.speed(i, view) * equal[gang.pool.value];
  }
  for (double& gain : claim.gains) {
    gain /= reference * std::max(kWeightMin, contender.job->job.weight);
  }
  return claim;
}

class GavelLas final : public PriorityRounds {
 public:
  using PriorityRounds::PriorityRounds;

 protected:
  [[nodiscard]] std::vector<std::vector<double>> fractions(
      const std::vector<RoundContender>& contenders, const View& view) override {
    const std::vector<double> equal =
        equal_share(std::max<std::size_t>(1, contenders.size()), view);
    std::map<std::pair<std::vector<double>, std::vector<int>>, std::size_t> kinds;
    std::vector<Claim> claims;
    std::vector<std::size_t> kind_of;
    for (const RoundContender& contender : contenders) {
      Claim claim = claim_of(contender, equal, view);
      const auto [found, is_new] = kinds.try_emplace({claim.gains, claim.gpus}, claims.size());
      if (is_new) {
        claims.push_back(std::move(claim));
      } else {
        ++claims[found->second].jobs;
      }
      kind_of.push_back(found->second);
    }
    const SolveLimits limits{.iterations_max = claims.size() > kKindsMax ? 1 : 200'000};
    const TimeFractions best = max_min_fractions(claims, view.capacity, limits);
    std::vector<std::vector<double>> answer;
    answer.reserve(kind_of.size());
    for (const std::size_t kind : kind_of) {
      answer.push_back(best.of_claim[kind]);
    }
    return answer;
  }
};

}  // namespace

std::unique_ptr<Policy> make_gavel_las(PriorityRoundsOptions options) {
  return std::make_unique<GavelLas>(options);
}

Result<std::unique_ptr<Policy>> make_gavel_las(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 2> kKeys = {"round", "half_life"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  const auto chosen = priority_rounds_options(options);
  return chosen ? Result<std::unique_ptr<Policy>>(make_gavel_las(*chosen)) : chosen.error();
}

PolicyInfo gavel_las_policy() {
  return {.name = "gavel-las",
          .paper = "Gavel, OSDI'20, section 4.1",
          .fidelity = "the paper's program; received time fades; no space sharing",
          .objective = "equal GPU time over mixed GPU types",
          .needs = "requested GPUs, speed per GPU type",
          .use_when = "GPU types differ, run times are unknown and jobs cannot be resized",
          .options = "round=360 (s), half_life=3600 (s)",
          .make = make_gavel_las};
}

}  // namespace rubato::policy::gavel
