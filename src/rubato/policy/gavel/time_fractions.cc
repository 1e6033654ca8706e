#include "rubato/policy/gavel/time_fractions.h"

#include <algorithm>
#include <limits>

#include "rubato/base/check.h"

namespace rubato::policy::gavel {
namespace {

double worth(const Claim& claim, const std::vector<double>& fractions) {
  double sum = 0;
  for (std::size_t pool = 0; pool < fractions.size(); ++pool) {
    sum += claim.gains[pool] * fractions[pool];
  }
  return sum;
}

double least_worth(std::span<const Claim> claims,
                   const std::vector<std::vector<double>>& fractions) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    least = std::min(least, worth(claims[i], fractions[i]));
  }
  return least;
}

// The least worth if only this pool were there: all claims that can use it get equally much, unless
// running all the time gives less.
void share_out(std::span<const Claim> claims, std::span<const int> capacity, std::size_t pool,
               std::vector<std::vector<double>>& fractions) {
  double gpus_per_worth = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Claim& claim : claims) {
    if (claim.gains[pool] > 0) {
      gpus_per_worth += claim.jobs * claim.gpus[pool] / claim.gains[pool];
      least = std::min(least, claim.gains[pool]);
    }
  }
  if (gpus_per_worth > 0) {
    least = std::min(least, capacity[pool] / gpus_per_worth);
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].gains[pool] > 0) {
      fractions[i][pool] = least / claims[i].gains[pool];
    }
  }
}

// Each pool by itself; a job that then runs more than all the time is cut down.
std::vector<std::vector<double>> pool_by_pool(std::span<const Claim> claims,
                                              std::span<const int> capacity) {
  std::vector<std::vector<double>> fractions(claims.size(),
                                             std::vector<double>(capacity.size(), 0.0));
  for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
    share_out(claims, capacity, pool, fractions);
  }
  for (std::vector<double>& row : fractions) {
    double total = 0;
    for (const double fraction : row) {
      total += fraction;
    }
    for (double& fraction : row) {
      fraction /= std::max(1.0, total);
    }
  }
  return fractions;
}

std::ptrdiff_t pools_used(std::span<const Claim> claims) {
  std::vector<bool> used(claims.front().gains.size(), false);
  for (const Claim& claim : claims) {
    for (std::size_t pool = 0; pool < used.size(); ++pool) {
      used[pool] = used[pool] || claim.gains[pool] > 0;
    }
  }
  return std::ranges::count(used, true);
}

// Columns: the least worth, then one per claim and pool that it gains from.
LinearProgram fractions_program(std::span<const Claim> claims, std::span<const int> capacity) {
  LinearProgram program(Goal::Maximise);
  const std::size_t least = program.add({.worth = 1});
  std::vector<std::vector<Term>> use(capacity.size());
  for (const Claim& claim : claims) {
    std::vector<Term> time;
    std::vector<Term> gains{{.variable = least, .factor = -1}};
    for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
      if (claim.gains[pool] <= 0) {
        continue;
      }
      const std::size_t fraction = program.add({.upper = 1});
      time.push_back({.variable = fraction, .factor = 1});
      gains.push_back({.variable = fraction, .factor = claim.gains[pool]});
      use[pool].push_back(
          {.variable = fraction, .factor = static_cast<double>(claim.jobs * claim.gpus[pool])});
    }
    program.add_row(time, Relation::AtMost, 1);
    program.add_row(gains, Relation::AtLeast, 0);
  }
  for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
    program.add_row(use[pool], Relation::AtMost, capacity[pool]);
  }
  return program;
}

}  // namespace

TimeFractions max_min_fractions(std::span<const Claim> claims, std::span<const int> capacity,
                                const SolveLimits& limits) {
  TimeFractions answer;
  if (claims.empty()) {
    return answer;
  }
  for (const Claim& claim : claims) {
    RUBATO_CHECK(claim.gains.size() == capacity.size() && claim.gpus.size() == capacity.size());
  }
  const Solution solution =
      pools_used(claims) > 1 ? solve(fractions_program(claims, capacity), limits) : Solution{};
  if (solution.status == SolveStatus::Optimal) {
    auto next = solution.values.begin() + 1;
    for (const Claim& claim : claims) {
      std::vector<double>& fractions = answer.of_claim.emplace_back();
      for (const double gain : claim.gains) {
        fractions.push_back(gain > 0 ? *next++ : 0);
      }
    }
  } else {
    answer.of_claim = pool_by_pool(claims, capacity);
  }
  answer.least = least_worth(claims, answer.of_claim);
  return answer;
}

}  // namespace rubato::policy::gavel
