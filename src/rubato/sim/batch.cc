#include "rubato/sim/batch.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace rubato {

std::vector<Result<SimResult>> simulate_all(const std::vector<BatchRun>& runs,
                                            const Topology& topology, const SpeedBook& speeds,
                                            unsigned threads, const BatchProgress& progress) {
  std::vector<std::optional<Result<SimResult>>> slots(runs.size());
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      SimWatcher watcher;
      if (progress) {
        watcher.on_progress = [&, i](std::size_t done, std::size_t all) {
          const std::lock_guard lock(telling);
          progress(i, done, all);
        };
      }
      slots[i] = simulate(*runs[i].jobs, topology, speeds, runs[i].options, watcher);
    }
  };
  {
    std::vector<std::jthread> workers;
    const std::size_t wanted = std::min<std::size_t>(std::max(1U, threads), runs.size());
    for (std::size_t i = 1; i < wanted; ++i) {
      workers.emplace_back(work);
    }
    work();
  }
  std::vector<Result<SimResult>> results;
  results.reserve(runs.size());
  for (auto& slot : slots) {
    results.push_back(*std::move(slot));
  }
  return results;
}

}  // namespace rubato
