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

constexpr int kCheckpointJobs = 10'000;
constexpr int kCheckpointTurns = 20;
constexpr double kLoadSecondsMax = 0.3;

// On few GPUs almost all jobs wait, on many all of them have plans.
LoadedEngine queued_jobs(const benchmark::State& state) {
  return LoadedEngine(LoadOptions{
      .policy = "elasticflow", .jobs = kCheckpointJobs, .gpus = static_cast<int>(state.range(0))});
}

void save_all(benchmark::State& state) {
  const LoadedEngine loaded = queued_jobs(state);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const double before = thread_seconds();
    bytes = loaded.engine().save().size();
    state.SetIterationTime(thread_seconds() - before);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

void load_all(benchmark::State& state) {
  const LoadedEngine loaded = queued_jobs(state);
  const std::string saved = loaded.engine().save();
  double slowest = 0;
  for (auto _ : state) {
    Engine engine = loaded.fresh_engine();
    const double before = thread_seconds();
    RUBATO_CHECK(engine.load(saved).ok());
    const double seconds = thread_seconds() - before;
    state.SetIterationTime(seconds);
    slowest = std::max(slowest, seconds);
    RUBATO_CHECK(engine.state().jobs.size() == kCheckpointJobs);
  }
  if (slowest > kLoadSecondsMax) {
    state.SkipWithError("loading took more than 0.3 s");
  }
}

void on_clusters(benchmark::internal::Benchmark* bench) {
  bench->ArgName("gpus")->Arg(128)->Arg(10'000);
  bench->Iterations(kCheckpointTurns)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(save_all)->Name("Checkpoint/save")->Apply(on_clusters);
BENCHMARK(load_all)->Name("Checkpoint/load")->Apply(on_clusters);

}  // namespace
}  // namespace rubato
