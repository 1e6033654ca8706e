// What finishing a job is worth, as a function of how long it took from arrival to finish.
#pragma once

#include <vector>

#include "rubato/base/time.h"

namespace rubato {

enum class ValueKind {
  Constant,             // `amount`, whenever it finishes.
  Steps,                // The amount of the first step whose `within` is not exceeded, else 0.
  Sigmoid,              // amount / (1 + exp(decay * (seconds - knee)))
  LinearAfterDeadline,  // `amount` until the knee, then `decay` less per second, never below 0.
};

struct ValueStep {
  Duration within{};
  double amount = 0;

  friend bool operator==(const ValueStep&, const ValueStep&) = default;
};

/// Never rises with time: finishing later is never worth more.
struct ValueFunction {
  ValueKind kind = ValueKind::Constant;
  double amount = 1;
  double decay = 0;                // Per second; see ValueKind.
  Duration knee{};                 // Latency at which the value starts to fall.
  std::vector<ValueStep> steps{};  // Rising `within`, falling `amount`.

  [[nodiscard]] double at(Duration latency) const;

  friend bool operator==(const ValueFunction&, const ValueFunction&) = default;
};

}  // namespace rubato
