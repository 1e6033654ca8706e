// How many of the next rounds each job should get: Shockwave's program over a window.
//
// Zheng et al., NSDI'23, section 5: maximise the mean logarithm of progress (in six points, linear
// between them) less k times the longest time left, under the GPUs of each round.
//
// The paper has one 0/1 variable per job and round; so has best_rows() while these are few. Beyond,
// a whole number per job says how many rounds it gets, for rounds differ in nothing; the counts
// must fit into all rounds together, and jobs that cannot run side by side one after another. For
// jobs on one GPU this is the same optimum; else a count or two may turn out not to fit, and is
// lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rubato/solve/linear_program.h"

namespace rubato::policy::shockwave {

struct WindowJob {
  int gpus = 1;
  double done = 0;          // Fraction of its work.
  double seconds_left = 0;  // Run time.
  double weight = 1;        // Of its logarithm.
  int rounds_min = 0;       // It must get at least so many.
};

struct Window {
  int rounds = 20;  // At most kRoundsMax.
  double round_seconds = 120;
  int gpus = 0;
  double k = 1e-3;  // Worth of a second less of the longest time left.

  static constexpr int kRoundsMax = 60;
  static constexpr std::size_t kCellsMax = 40;  // Jobs times rounds with a variable each.
  static constexpr std::size_t kWholeMax = 5;   // Jobs with a whole-number variable each.
};

/// What the counts are worth; the paper's objective.
[[nodiscard]] double window_worth(std::span<const WindowJob> jobs, const Window& window,
                                  std::span<const int> counts);

/// Per job, bit r is set if it runs in round r; jobs given first run first where there is a choice.
/// Nothing if the minima do not fit. When the limits strike, the best found or else the greedy one.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> best_rows(std::span<const WindowJob> jobs,
                                                                  const Window& window,
                                                                  const SolveLimits& limits = {});

/// Rounds per job, the same way, without saying which.
[[nodiscard]] std::optional<std::vector<int>> best_counts(std::span<const WindowJob> jobs,
                                                          const Window& window,
                                                          const SolveLimits& limits = {});

/// Rounds one by one to the job that gains most per GPU, minima first as far as they fit.
[[nodiscard]] std::vector<int> greedy_counts(std::span<const WindowJob> jobs, const Window& window);

/// Lays counts out in rounds: bit r is set if the job runs in round r. Jobs that need all rounds
/// left come first, then in the order given. Counts that do not fit lose rounds.
[[nodiscard]] std::vector<std::uint64_t> spread(std::span<const WindowJob> jobs,
                                                const Window& window, std::span<const int> counts);

}  // namespace rubato::policy::shockwave
