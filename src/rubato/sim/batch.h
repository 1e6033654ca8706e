// Several simulations at once, one per core: policies and seeds share nothing but their input.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "rubato/sim/simulator.h"

namespace rubato {

/// One run of a batch; borrows its workload.
struct BatchRun {
  const std::vector<Job>* jobs = nullptr;
  const SpeedBook* speeds = nullptr;
  SimOptions options{};
};

/// Called from several threads, one at a time.
struct BatchWatcher {
  /// Run `index` has `done` of its `all` jobs behind it; called once at its very start.
  std::function<void(std::size_t index, std::size_t done, std::size_t all)> on_progress{};
  /// Takes the result, so that thousands of histories need not be kept.
  std::function<void(std::size_t index, Result<SimResult> result)> on_result{};
};

/// Starts runs in their order; they finish in any.
void simulate_all(const std::vector<BatchRun>& runs, const Topology& topology, unsigned threads,
                  const BatchWatcher& watcher);

}  // namespace rubato
