#include "rubato/sim/batch.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace rubato {

void simulate_all(const std::vector<BatchRun>& runs, const Topology& topology, unsigned threads,
                  const BatchWatcher& watcher) {
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  const auto tell = [&](std::size_t run, std::size_t done, std::size_t all) {
    if (watcher.on_progress) {
      const std::lock_guard lock(telling);
      watcher.on_progress(run, done, all);
    }
  };
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      tell(i, 0, runs[i].jobs->size());
      const SimWatcher progress{
          .on_progress = [&, i](std::size_t done, std::size_t all) { tell(i, done, all); }};
      auto result = simulate(*runs[i].jobs, topology, *runs[i].speeds, runs[i].options, progress);
      const std::lock_guard lock(telling);
      watcher.on_result(i, std::move(result));
    }
  };
  std::vector<std::jthread> workers;
  const std::size_t wanted = std::min<std::size_t>(std::max(1U, threads), runs.size());
  for (std::size_t i = 1; i < wanted; ++i) {
    workers.emplace_back(work);
  }
  work();
}

}  // namespace rubato
