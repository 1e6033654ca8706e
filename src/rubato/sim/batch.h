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
  SimOptions options{};
};

/// Called from several threads, one at a time: run `index` has `done` of its `all` jobs behind it.
using BatchProgress = std::function<void(std::size_t index, std::size_t done, std::size_t all)>;

/// Results in the order of `runs`, whatever order they finish in.
[[nodiscard]] std::vector<Result<SimResult>> simulate_all(const std::vector<BatchRun>& runs,
                                                          const Topology& topology,
                                                          const SpeedBook& speeds, unsigned threads,
                                                          const BatchProgress& progress);

}  // namespace rubato
