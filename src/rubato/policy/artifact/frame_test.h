// Test support: a frame of four GPUs, and what steps say about a second.
#pragma once

#include "rubato/policy/artifact/filling.h"

namespace rubato::policy::artifact {

inline constexpr Frame kFrame{.now = 0, .slot = 10, .gpus = 4};

[[nodiscard]] inline int value_at(const Steps& steps, WholeSeconds second) {
  int value = 0;
  for (const Step& step : steps) {
    value = step.from <= second ? step.gpus : value;
  }
  return value;
}

}  // namespace rubato::policy::artifact
