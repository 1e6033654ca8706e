// Test support: an application with two epochs whose runs can be reckoned by hand.
#pragma once

#include <vector>

#include "rubato/predict/application_profile.h"

namespace rubato {

/// One GPU takes 1 s for 10 samples and 1.5 s for 20, two take half a second more, of which all is
/// exchange. Batch 10 trains in 100 and 190 steps; a step with 40 is worth 2.5 and 3.25 of them.
[[nodiscard]] inline ApplicationProfile small_profile() {
  std::vector<StepTime> times;
  for (const int local_batch : {10, 20}) {
    const double pass = 0.5 + 0.05 * local_batch;
    times.push_back(
        {.nodes = 1, .gpus = 1, .pattern = {1}, .local_batch = local_batch, .step_seconds = pass});
    times.push_back({.nodes = 1,
                     .gpus = 2,
                     .pattern = {2},
                     .local_batch = local_batch,
                     .step_seconds = pass + 0.5,
                     .sync_seconds = 0.5});
  }
  const auto epoch = [](double progress, double variance) {
    return Epoch{
        .progress = progress, .steps = progress, .noise = {.squared = 1, .variance = variance}};
  };
  return ApplicationProfile(
      times, {{10, {epoch(100, 0), epoch(290, 4)}}, {40, {epoch(120, 4), epoch(300, 12)}}});
}

}  // namespace rubato
