// What it costs to write down all that an engine knows, and to go on from there.
//
// Limit: an engine with 10,000 active jobs is back within 0.3 s. A run that crosses it is marked as
// an error.
#include <algorithm>
#include <string>

#include <benchmark/benchmark.h>

#include "loaded_engine.h"
#include "rubato/base/check.h"

namespace rubato {
namespace {

constexpr int kQueuedJobs = 10'000;
constexpr int kClusterGpus = 128;
constexpr double kLoadSecondsMax = 0.3;

const LoadedEngine& loaded_elasticflow() {
  static const LoadedEngine loaded(
      LoadOptions{.policy = "elasticflow", .jobs = kQueuedJobs, .gpus = kClusterGpus});
  return loaded;
}

void save_all(benchmark::State& state) {
  const LoadedEngine& loaded = loaded_elasticflow();
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes = loaded.engine().save().size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

void load_all(benchmark::State& state) {
  const LoadedEngine& loaded = loaded_elasticflow();
  const std::string saved = loaded.engine().save();
  double slowest = 0;
  for (auto _ : state) {
    Engine engine = loaded.fresh_engine();
    const double before = thread_seconds();
    RUBATO_CHECK(engine.load(saved).ok());
    const double seconds = thread_seconds() - before;
    state.SetIterationTime(seconds);
    slowest = std::max(slowest, seconds);
    RUBATO_CHECK(engine.state().jobs.size() == kQueuedJobs);
  }
  if (slowest > kLoadSecondsMax) {
    state.SkipWithError("loading took more than 0.3 s");
  }
}

BENCHMARK(save_all)->Name("Checkpoint/save")->Unit(benchmark::kMillisecond);
BENCHMARK(load_all)->Name("Checkpoint/load")->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rubato
