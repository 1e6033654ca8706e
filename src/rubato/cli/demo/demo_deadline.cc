#include "rubato/cli/demo/demo_deadline.h"

#include <algorithm>
#include <cmath>

namespace rubato {
namespace {

constexpr double kUnits = 100;    // Of work at most: a wrong quote must not take forever.
constexpr double kCaution = 2.5;  // Beyond what neighbours take.
constexpr double kDeadlineMin = 20;
constexpr double kStarts = 2;
constexpr double kImpossiblePart = 4;  // Of the time that it would take.
constexpr double kImpossibleMin = 1;

}  // namespace

int steps_for(const DemoQuote& quote, double seconds, int unit) {
  const double per_step = quote.earliest_seconds / std::max(1.0, quote.steps);
  const double units = per_step > 0 ? std::round(seconds / per_step / unit) : 1;
  return static_cast<int>(std::clamp(units, 1.0, kUnits)) * unit;
}

double generous_deadline(const DemoQuote& quote, const DemoMachine& machine) {
  const double crowd = std::max(1.0, static_cast<double>(machine.slots) / machine.processors);
  const double work = quote.earliest_seconds * crowd * kCaution;
  return std::max(kDeadlineMin, std::ceil(work + kStarts * machine.start_seconds));
}

double impossible_deadline(const DemoQuote& quote) {
  return std::max(kImpossibleMin, std::floor(quote.earliest_seconds / kImpossiblePart));
}

}  // namespace rubato
