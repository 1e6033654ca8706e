#include "rubato/policy/planning/window_search.h"

#include <tuple>
#include <utility>

namespace rubato::policy::planning {
namespace {

// Greater is better.
using WindowRank = std::tuple<double, Duration, int, Duration>;

WindowRank rank_of(double payoff, const CrewChoice& choice, TimeWindow window) {
  return {payoff, -window.to.time_since_epoch(), -choice.crew.workers,
          -window.from.time_since_epoch()};
}

}  // namespace

std::optional<Booking> best_window(const WindowSearch& search) {
  std::optional<Booking> best;
  WindowRank best_rank{};
  for (const Instant start : search.starts) {
    bool could_be_better = false;
    for (const CrewChoice& choice : search.crews) {
      const TimeWindow window{.from = start, .to = later(start, choice.run_time)};
      if (window.to > search.last_finish) {
        continue;
      }
      const double value = search.value(window.to);
      if (best && rank_of(value, choice, window) <= best_rank) {
        continue;  // Not even for nothing.
      }
      could_be_better = true;
      auto posting = search.place(choice, window);
      if (!posting) {
        continue;
      }
      const WindowRank rank = rank_of(value - posting->cost, choice, window);
      if (!best || rank > best_rank) {
        best_rank = rank;
        best = Booking{
            .window = window, .choice = choice, .posting = *std::move(posting), .value = value};
      }
    }
    if (!could_be_better) {
      break;  // Later starts finish later and are worth no more.
    }
  }
  return best;
}

}  // namespace rubato::policy::planning
