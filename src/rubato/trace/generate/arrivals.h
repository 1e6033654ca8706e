// When generated jobs arrive: evenly at random, with the time of day, or in bursts.
#pragma once

#include <optional>
#include <string_view>

#include "rubato/base/random.h"

namespace rubato {

enum class ArrivalKind {
  Poisson,  // Independent of each other, at a constant rate.
  Diurnal,  // The rate follows the hour: a cosine with its peak at 15:00, 1.7 to 0.3 of the mean.
  Bursty,   // Calm at a third of the mean rate, with bursts at seven times it.
};

[[nodiscard]] std::optional<ArrivalKind> parse_arrivals(std::string_view name);
[[nodiscard]] std::string_view to_string(ArrivalKind kind);

/// Rising arrival times in seconds, starting after zero, `mean_gap` apart on average.
class Arrivals {
 public:
  Arrivals(ArrivalKind kind, double mean_gap, Random random);

  double next();

 private:
  double next_diurnal();
  double next_bursty();

  ArrivalKind kind_;
  double mean_gap_;
  Random random_;
  double now_ = 0;
  bool is_burst_ = false;
  double phase_end_ = 0;  // Of the calm or burst at hand.
};

}  // namespace rubato
