// The best schedule of one elastic job: how many workers in which slot, if it is worth its price.
//
// Dynamic program over progress: least cost of having done w units by the end of slot t. What an
// amount of workers brings in a slot is a whole number of units, rounded down by the caller, so a
// schedule never promises too much. With linear speed and one unit per worker and slot this is the
// search of OASiS (INFOCOM'18, algorithm 2), run over worker-slots instead of data chunks.
//
// Ties: earlier finish, then fewer workers. Costs slots * units * choices.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace rubato::policy::pricing {

/// A number of workers for one slot.
struct SlotChoice {
  int workers = 0;
  int gain = 0;  // Units of progress.
  double cost = 0;
};

/// Slots are numbered from zero.
struct SlotSearch {
  int slots = 0;
  int units = 1;  // To be done in all.
  /// What can be had in a slot, fewest workers first; asked once for each slot, in order.
  std::function<std::vector<SlotChoice>(int slot)> choices{};
  /// What finishing in a slot is worth; never rises.
  std::function<double(int slot)> value{};
};

struct SlotSchedule {
  std::vector<int> workers{};  // Per slot, up to the one it finishes in.
  double cost = 0;
  double value = 0;

  [[nodiscard]] double payoff() const { return value - cost; }
};

/// The schedule with the highest payoff, be it negative; nothing if there is no room for the work.
[[nodiscard]] std::optional<SlotSchedule> best_slots(const SlotSearch& search);

}  // namespace rubato::policy::pricing
