// Work and deadlines of the demonstration, from what the platform has measured on this machine.
#pragma once

#include <cstdint>

namespace rubato {

/// What a quote for a known amount of work said.
struct DemoQuote {
  double steps = 0;
  double earliest_seconds = 0;  // Until the earliest deadline that could be promised.
};

/// The machine: how many workers share how many processors, and how long a program takes here from
/// its submission to its first step.
struct DemoMachine {
  int slots = 1;
  int processors = 1;
  double start_seconds = 0;
};

/// Steps that take about so long on the whole machine, a multiple of `unit`, at least one.
[[nodiscard]] int steps_for(const DemoQuote& quote, double seconds, int unit);

/// Seconds from now that leave room: for neighbours on the same processors, which a measurement
/// does not see; for what else the machine does; and for a start, and another after a kill, which
/// quotes do not know.
[[nodiscard]] double generous_deadline(const DemoQuote& quote, const DemoMachine& machine);

/// Seconds from now in which no platform could do it.
[[nodiscard]] double impossible_deadline(const DemoQuote& quote);

}  // namespace rubato
