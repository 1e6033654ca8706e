#include "rubato/policy/shockwave/window_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <tuple>

#include "rubato/base/check.h"

namespace rubato::policy::shockwave {
namespace {

// Progress at which the logarithm is exact; zero progress counts as a millionth.
constexpr std::array<double, 6> kBases = {0, 0.2, 0.4, 0.6, 0.8, 1};
constexpr double kNoProgress = 1e-6;

constexpr double kCountRounding = 1e-6;
constexpr double kWholeBetterMin = 1e-9;  // What an answer in whole numbers must add to be taken.

double log_at(std::size_t base) { return std::log(std::max(kBases[base], kNoProgress)); }

struct Chord {
  double slope = 0;
  double start = 0;  // At progress zero.
};

std::array<Chord, kBases.size() - 1> chords() {
  std::array<Chord, kBases.size() - 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].slope = (log_at(i + 1) - log_at(i)) / (kBases[i + 1] - kBases[i]);
    all[i].start = log_at(i) - all[i].slope * kBases[i];
  }
  return all;
}

// The logarithm of progress along the chords; they are concave, so the lowest is the right one.
double log_progress(double progress) {
  double least = 0;
  for (const Chord& chord : chords()) {
    least = std::min(least, chord.start + chord.slope * progress);
  }
  return least;
}

// Progress one round brings, until the job is done.
double gain_per_round(const WindowJob& job, const Window& window) {
  return (1 - job.done) * window.round_seconds / job.seconds_left;
}

double progress_after(const WindowJob& job, const Window& window, int rounds) {
  return job.seconds_left > 0 ? std::min(1.0, job.done + gain_per_round(job, window) * rounds) : 1;
}

int rounds_wanted(const WindowJob& job, const Window& window) {
  const double rounds = std::ceil(job.seconds_left / window.round_seconds);
  return static_cast<int>(std::clamp(rounds, 0.0, static_cast<double>(window.rounds)));
}

double log_scale(std::size_t jobs, const Window& window) {
  return 1 / (static_cast<double>(jobs) * window.rounds);
}

// The logarithm of one job's progress: a variable below all chords.
void add_window_job(LinearProgram& program, const WindowJob& job, std::size_t count, double scale,
                    const Window& window) {
  const double gain = gain_per_round(job, window);
  const std::size_t progress = program.add({.upper = 1});
  program.add_row(std::vector<Term>{{progress, 1}, {count, -gain}}, Relation::AtMost, job.done);
  const std::size_t logarithm =
      program.add({.lower = log_at(0), .upper = 0, .worth = job.weight * scale});
  for (const Chord& chord : chords()) {
    program.add_row(std::vector<Term>{{logarithm, 1}, {progress, -chord.slope}}, Relation::AtMost,
                    chord.start);
  }
}

// Jobs of which no two can run side by side share the rounds: those wider than half the GPUs, and
// one narrower job with all that leave no room for it.
void add_cliques(LinearProgram& program, std::span<const WindowJob> jobs, const Window& window) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<Term> clique{{i, 1}};
    for (std::size_t other = 0; other < jobs.size(); ++other) {
      const bool is_wide = 2 * jobs[other].gpus > window.gpus;
      if (other != i && is_wide && jobs[other].gpus + jobs[i].gpus > window.gpus) {
        clique.push_back({other, 1});
      }
    }
    if (clique.size() > 1) {
      program.add_row(clique, Relation::AtMost, window.rounds);
    }
  }
}

// One variable per job and round, which add up to the counts. Returns the first of them.
std::size_t add_cells(LinearProgram& program, std::span<const WindowJob> jobs,
                      const Window& window) {
  const std::size_t first = program.variables().size();
  std::vector<std::vector<Term>> use(static_cast<std::size_t>(window.rounds));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<Term> sum{{i, -1}};
    for (std::vector<Term>& round : use) {
      const std::size_t cell = program.add({.upper = 1, .is_integer = true});
      sum.push_back({cell, 1});
      round.push_back({cell, static_cast<double>(jobs[i].gpus)});
    }
    program.add_row(sum, Relation::Equal, 0);
  }
  for (const std::vector<Term>& round : use) {
    program.add_row(round, Relation::AtMost, window.gpus);
  }
  return first;
}

// Rounds can change places: those with the jobs that were given first come first.
std::vector<std::uint64_t> in_order(const std::vector<std::vector<bool>>& cells, int rounds) {
  std::vector<std::tuple<std::vector<bool>, std::size_t>> order;
  for (std::size_t round = 0; round < static_cast<std::size_t>(rounds); ++round) {
    std::vector<bool> column;
    column.reserve(cells.size());
    for (const std::vector<bool>& row : cells) {
      column.push_back(!row[round]);
    }
    order.emplace_back(std::move(column), round);
  }
  std::ranges::sort(order);
  std::vector<std::uint64_t> rows(cells.size(), 0);
  for (std::size_t place = 0; place < order.size(); ++place) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i][std::get<1>(order[place])]) {
        rows[i] |= std::uint64_t{1} << place;
      }
    }
  }
  return rows;
}

// Counts first, in the order of the jobs; whole numbers, or the relaxation.
LinearProgram window_program(std::span<const WindowJob> jobs, const Window& window,
                             bool is_integer) {
  LinearProgram program(Goal::Maximise);
  std::vector<Term> use;
  for (const WindowJob& job : jobs) {
    const std::size_t count = program.add(
        {.lower = static_cast<double>(job.rounds_min),
         .upper = static_cast<double>(std::max(job.rounds_min, rounds_wanted(job, window))),
         .is_integer = is_integer});
    use.push_back({count, static_cast<double>(job.gpus)});
  }
  program.add_row(use, Relation::AtMost, static_cast<double>(window.gpus) * window.rounds);
  add_cliques(program, jobs, window);
  const std::size_t longest = program.add({.worth = -window.k});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].seconds_left > 0) {
      add_window_job(program, jobs[i], i, log_scale(jobs.size(), window), window);
      program.add_row(std::vector<Term>{{longest, 1}, {i, window.round_seconds}}, Relation::AtLeast,
                      jobs[i].seconds_left);
    }
  }
  return program;
}

// Whether the minima keep the rows of the program; if so, they are an answer themselves.
bool minima_fit(std::span<const WindowJob> jobs, const Window& window) {
  long total = 0;
  int wide = 0;  // Rounds of jobs of which no two can run side by side.
  for (const WindowJob& job : jobs) {
    total += static_cast<long>(job.gpus) * job.rounds_min;
    wide += 2 * job.gpus > window.gpus ? job.rounds_min : 0;
  }
  for (const WindowJob& job : jobs) {
    int clique = job.rounds_min;
    for (const WindowJob& other : jobs) {
      const bool is_wide = 2 * other.gpus > window.gpus && 2 * job.gpus <= window.gpus;
      clique += is_wide && other.gpus + job.gpus > window.gpus ? other.rounds_min : 0;
    }
    if (clique > window.rounds) {
      return false;
    }
  }
  return wide <= window.rounds && total <= static_cast<long>(window.gpus) * window.rounds;
}

std::vector<int> rounded_down(const Solution& solution, std::span<const WindowJob> jobs) {
  std::vector<int> counts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    counts.push_back(static_cast<int>(std::floor(solution.values[i] + kCountRounding)));
  }
  return counts;
}

// Rounds that are left go one by one to the job that gains most per GPU.
std::vector<int> filled_up(std::vector<int> counts, std::span<const WindowJob> jobs,
                           const Window& window) {
  int left = window.gpus * window.rounds;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    left -= counts[i] * jobs[i].gpus;
  }
  std::priority_queue<std::tuple<double, std::size_t>> gains;
  const auto push = [&](std::size_t i) {
    if (counts[i] < rounds_wanted(jobs[i], window)) {
      const double now = log_progress(progress_after(jobs[i], window, counts[i]));
      const double then = log_progress(progress_after(jobs[i], window, counts[i] + 1));
      gains.emplace(jobs[i].weight * (then - now) / jobs[i].gpus, i);
    }
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    push(i);
  }
  while (!gains.empty()) {
    const std::size_t i = std::get<1>(gains.top());
    gains.pop();
    if (jobs[i].gpus <= left) {
      left -= jobs[i].gpus;
      ++counts[i];
      push(i);
    }
  }
  return counts;
}

}  // namespace

double window_worth(std::span<const WindowJob> jobs, const Window& window,
                    std::span<const int> counts) {
  double logarithms = 0;
  double longest = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    logarithms += jobs[i].weight * log_progress(progress_after(jobs[i], window, counts[i]));
    longest = std::max(longest, jobs[i].seconds_left - counts[i] * window.round_seconds);
  }
  return logarithms * log_scale(jobs.size(), window) - window.k * longest;
}

std::optional<std::vector<int>> best_counts(std::span<const WindowJob> jobs, const Window& window,
                                            const SolveLimits& limits) {
  RUBATO_CHECK(window.rounds <= Window::kRoundsMax);
  if (!minima_fit(jobs, window)) {
    return std::nullopt;
  }
  const Solution relaxed = solve(window_program(jobs, window, /*is_integer=*/false), limits);
  if (!relaxed.has_values()) {
    return greedy_counts(jobs, window);
  }
  std::vector<int> counts = filled_up(rounded_down(relaxed, jobs), jobs, window);
  if (jobs.size() > Window::kWholeMax) {
    return counts;
  }
  SolveLimits improving = limits;
  improving.cutoff = window_worth(jobs, window, counts) + kWholeBetterMin;
  const Solution whole = solve(window_program(jobs, window, /*is_integer=*/true), improving);
  return whole.has_values() ? rounded_down(whole, jobs) : counts;
}

std::optional<std::vector<std::uint64_t>> best_rows(std::span<const WindowJob> jobs,
                                                    const Window& window,
                                                    const SolveLimits& limits) {
  const auto rounds = static_cast<std::size_t>(window.rounds);
  if (jobs.empty() || jobs.size() * rounds > Window::kCellsMax) {
    const auto counts = best_counts(jobs, window, limits);
    return counts ? std::optional(spread(jobs, window, *counts)) : std::nullopt;
  }
  LinearProgram program = window_program(jobs, window, /*is_integer=*/true);
  std::size_t cell = add_cells(program, jobs, window);
  const Solution solution = solve(program, limits);
  if (solution.status == SolveStatus::Infeasible) {
    return std::nullopt;
  }
  if (!solution.has_values()) {
    return spread(jobs, window, greedy_counts(jobs, window));
  }
  std::vector<std::vector<bool>> cells(jobs.size(), std::vector<bool>(rounds, false));
  for (std::vector<bool>& row : cells) {
    for (std::size_t round = 0; round < rounds; ++round) {
      row[round] = solution.values[cell++] > 0.5;
    }
  }
  return in_order(cells, window.rounds);
}

std::vector<int> greedy_counts(std::span<const WindowJob> jobs, const Window& window) {
  std::vector<int> counts(jobs.size(), 0);
  int left = window.gpus * window.rounds;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    counts[i] = std::min({jobs[i].rounds_min, window.rounds, left / jobs[i].gpus});
    left -= counts[i] * jobs[i].gpus;
  }
  return filled_up(std::move(counts), jobs, window);
}

std::vector<std::uint64_t> spread(std::span<const WindowJob> jobs, const Window& window,
                                  std::span<const int> counts) {
  std::vector<std::uint64_t> rows(jobs.size(), 0);
  std::vector<int> left(counts.begin(), counts.end());
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  for (int round = 0; round < window.rounds; ++round) {
    const int rounds_left = window.rounds - round;
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::tuple(left[i] < rounds_left, i); });
    int free = window.gpus;
    for (const std::size_t i : order) {
      if (left[i] > 0 && jobs[i].gpus <= free) {
        free -= jobs[i].gpus;
        --left[i];
        rows[i] |= std::uint64_t{1} << static_cast<unsigned>(round);
      }
    }
  }
  return rows;
}

}  // namespace rubato::policy::shockwave
