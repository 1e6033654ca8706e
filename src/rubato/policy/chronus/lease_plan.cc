#include "rubato/policy/chronus/lease_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "rubato/base/check.h"

namespace rubato::policy::chronus {
namespace {

constexpr double kOverheadMinutes = 0.5;  // Per lease: 0.1 to stop and 0.4 to resume.
constexpr double kMargin = 1.1;

int last_end(const LeaseJob& job, std::size_t horizon) {
  return std::min(job.options.back().end, static_cast<int>(horizon));
}

// What a variable of the first lease adds to the objective.
double first_lease_worth(const LeaseJob& job, int capacity, NextLease next) {
  const double share = static_cast<double>(job.gpus) / std::max(1, capacity);
  return next == NextLease::Use ? share : -share;
}

// The most GPUs of the next lease that whole jobs can fill.
int most_used(std::span<const LeaseJob> jobs, int free) {
  std::vector<bool> reached(static_cast<std::size_t>(std::max(0, free)) + 1, false);
  reached[0] = true;
  for (const LeaseJob& job : jobs) {
    if (job.first > 0 || job.need == 0) {
      continue;
    }
    for (int gpus = free; gpus >= job.gpus; --gpus) {
      const auto at = static_cast<std::size_t>(gpus);
      reached[at] = reached[at] || reached[at - static_cast<std::size_t>(job.gpus)];
    }
    if (reached.back()) {
      break;
    }
  }
  int most = std::max(0, free);
  while (!reached[static_cast<std::size_t>(most)]) {
    --most;
  }
  return most;
}

// What a job alone is worth at most if the next lease should be spared: it must be used under an
// option that leaves no other choice.
double worth_alone(const LeaseJob& job, int capacity) {
  double most = -std::numeric_limits<double>::infinity();
  for (const LeaseOption& option : job.options) {
    const bool needs_next = job.first == 0 && job.need > 0 && option.end <= job.need;
    const double loss = needs_next ? first_lease_worth(job, capacity, NextLease::Spare) : 0;
    most = std::max(most, option.value + loss);
  }
  return most;
}

// The GPUs of the next lease that must be used because the leases before some end have too few.
int least_used(std::span<const LeaseJob> jobs, std::span<const int> free) {
  std::vector<std::int64_t> due(free.size() + 1, 0);  // GPU leases, by their last end.
  for (const LeaseJob& job : jobs) {
    due[static_cast<std::size_t>(last_end(job, free.size()))] += std::int64_t{job.gpus} * job.need;
  }
  std::int64_t wanted = 0;
  std::int64_t room = 0;
  std::int64_t most = 0;
  for (std::size_t end = 0; end <= free.size(); ++end) {
    room += end > 1 ? free[end - 1] : 0;
    wanted += due[end];
    most = std::max(most, wanted - room);
  }
  return static_cast<int>(std::min<std::int64_t>(most, free.empty() ? 0 : free[0]));
}

/// Where the variables of one job stand in the program.
struct Cells {
  std::size_t first = 0;  // The variable of its first usable lease.
  int count = 0;
};

// One variable per job and lease, one per job and option.
Cells add_lease_job(LinearProgram& program, const LeaseJob& job,
                    std::vector<std::vector<Term>>& use, int capacity, NextLease next) {
  Cells cells{.first = program.variables().size(),
              .count = std::max(0, last_end(job, use.size()) - job.first)};
  std::vector<Term> sum;
  for (int lease = job.first; lease < job.first + cells.count; ++lease) {
    const double worth = lease == 0 ? first_lease_worth(job, capacity, next) : 0;
    const std::size_t cell = program.add({.upper = 1, .worth = worth, .is_integer = true});
    sum.push_back({cell, 1});
    use[static_cast<std::size_t>(lease)].push_back({cell, static_cast<double>(job.gpus)});
  }
  program.add_row(sum, Relation::Equal, job.need);
  std::vector<Term> choice;
  for (const LeaseOption& option : job.options) {
    choice.push_back({program.add({.upper = 1, .worth = option.value, .is_integer = true}), 1});
  }
  program.add_row(choice, Relation::Equal, 1);
  // A lease can be used only under an option that ends after it; all leases share the same last.
  for (int lease = job.options.front().end; lease < job.first + cells.count; ++lease) {
    if (lease < job.first) {
      continue;
    }
    std::vector<Term> row{{cells.first + static_cast<std::size_t>(lease - job.first), 1}};
    for (std::size_t i = 0; i < job.options.size(); ++i) {
      if (job.options[i].end > lease) {
        row.push_back({choice[i].variable, -1});
      }
    }
    program.add_row(row, Relation::AtMost, 0);
  }
  return cells;
}

}  // namespace

double estimated_minutes(double run_minutes, int gpus, double lease_minutes) {
  const double overhead = (1 + std::log2(gpus)) * kOverheadMinutes / lease_minutes;
  return std::floor(run_minutes * (1 + overhead) * kMargin);
}

int rounded_gpus(int gpus) { return gpus == 3 ? 4 : gpus > 4 && gpus < 8 ? 8 : gpus; }

std::optional<Leases> latest_leases(const LeaseJob& job, std::span<const int> free) {
  Leases leases;
  for (int lease = last_end(job, free.size()) - 1;
       lease >= job.first && static_cast<int>(leases.size()) < job.need; --lease) {
    if (free[static_cast<std::size_t>(lease)] >= job.gpus) {
      leases.push_back(lease);
    }
  }
  if (static_cast<int>(leases.size()) < job.need) {
    return std::nullopt;
  }
  std::ranges::reverse(leases);
  return leases;
}

double value_of(const LeaseJob& job, const Leases& leases) {
  for (const LeaseOption& option : job.options) {
    if (leases.empty() || leases.back() < option.end) {
      return option.value;
    }
  }
  return 0;
}

void take(const Leases& leases, int gpus, std::vector<int>& free) {
  for (const int lease : leases) {
    if (lease >= 0 && lease < static_cast<int>(free.size())) {
      free[static_cast<std::size_t>(lease)] -= gpus;
    }
  }
}

LatestFit latest_fit(std::span<const LeaseJob> jobs, std::vector<int> free) {
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const int end = jobs[i].options.back().end;
    return std::tuple(-jobs[i].gpus, end - jobs[i].need, -end, i);
  });
  LatestFit fit{.leases = std::vector<Leases>(jobs.size())};
  for (const std::size_t i : order) {
    if (auto leases = latest_leases(jobs[i], free)) {
      take(*leases, jobs[i].gpus, free);
      fit.leases[i] = std::move(*leases);
    } else {
      fit.unfit.push_back(i);
    }
  }
  return fit;
}

double lease_worth(std::span<const LeaseJob> jobs, std::span<const Leases> leases, int capacity,
                   NextLease next) {
  double worth = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    worth += value_of(jobs[i], leases[i]);
    if (!leases[i].empty() && leases[i].front() == 0) {
      worth += first_lease_worth(jobs[i], capacity, next);
    }
  }
  return worth;
}

double lease_worth_bound(std::span<const LeaseJob> jobs, std::span<const int> free, int capacity,
                         NextLease next) {
  double best_options = 0;
  double alone = 0;
  for (const LeaseJob& job : jobs) {
    best_options += job.options.front().value;
    alone += worth_alone(job, capacity);
  }
  const double gpus = std::max(1, capacity);
  return next == NextLease::Use ? best_options + most_used(jobs, free.empty() ? 0 : free[0]) / gpus
                                : std::min(alone, best_options - least_used(jobs, free) / gpus);
}

std::optional<std::vector<Leases>> best_leases(std::span<const LeaseJob> jobs,
                                               std::span<const int> free, int capacity,
                                               NextLease next, const SolveLimits& limits) {
  LinearProgram program(Goal::Maximise);
  std::vector<std::vector<Term>> use(free.size());
  std::vector<Cells> cells;
  for (const LeaseJob& job : jobs) {
    RUBATO_CHECK(!job.options.empty());
    cells.push_back(add_lease_job(program, job, use, capacity, next));
  }
  for (std::size_t lease = 0; lease < use.size(); ++lease) {
    program.add_row(use[lease], Relation::AtMost, free[lease]);
  }
  const Solution solution = solve(program, limits);
  if (!solution.has_values() && !jobs.empty()) {
    return std::nullopt;
  }
  std::vector<Leases> leases(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (int lease = 0; lease < cells[i].count; ++lease) {
      if (solution.values[cells[i].first + static_cast<std::size_t>(lease)] > 0.5) {
        leases[i].push_back(jobs[i].first + lease);
      }
    }
  }
  return leases;
}

}  // namespace rubato::policy::chronus
