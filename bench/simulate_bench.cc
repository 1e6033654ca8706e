// Whole runs of generated traces: simulated jobs per second, decision times and memory.
#include <array>
#include <string>

#include <benchmark/benchmark.h>

#include "loaded_engine.h"
#include "rubato/base/check.h"
#include "rubato/cli/trace/trace_speeds.h"
#include "rubato/metrics/use_integral.h"
#include "rubato/predict/speed_table.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {
namespace {

constexpr std::array<const char*, 4> kPolicies = {"fifo", "srtf", "tiresias", "elasticflow"};
constexpr const char* kCluster = "1250x8";
constexpr int kClusterGpus = 10'000;

std::vector<Job> generated(std::uint64_t count) {
  const std::vector<SpeedRow> rows = sample_speeds();
  auto generator = Generator::make(GeneratorOptions{.jobs = count,
                                                    .cluster_gpus = kClusterGpus,
                                                    .models = model_choices(rows),
                                                    .speed = speed_of(rows)});
  RUBATO_CHECK(generator.ok());
  std::vector<Job> jobs;
  while (auto job = generator->next()) {
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

void run(benchmark::State& state, const std::string& policy) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  const auto topology = Topology::parse(kCluster);
  RUBATO_CHECK(topology.ok());
  SpeedBook speeds(sample_speeds(), *topology);
  const Workload workload = prepare(generated(count), speeds);
  SimResult last;
  for (auto _ : state) {
    auto result = simulate(workload.jobs, *topology, speeds, SimOptions{.policy = policy});
    RUBATO_CHECK(result.ok());
    last = *std::move(result);
  }
  state.counters["jobs_per_second"] =
      benchmark::Counter(static_cast<double>(count) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
  state.counters["decision_p50_us"] = last.decision_p50_seconds * 1e6;
  state.counters["decision_p99_us"] = last.decision_p99_seconds * 1e6;
  state.counters["decision_max_us"] = last.decision_max_seconds * 1e6;
  const History& history = last.history;
  const UseSum use = UseIntegral(history.use).over(history.start, history.end);
  state.counters["active_jobs_avg"] = use.active_seconds / to_seconds(history.end - history.start);
  state.counters["rounds"] = static_cast<double>(last.history.rounds);
  state.counters["peak_rss_bytes"] = most_memory_bytes();
}

[[maybe_unused]] const bool kSimulationsRegistered = [] {
  for (const char* policy : kPolicies) {
    auto* bench =
        benchmark::RegisterBenchmark((std::string("Simulate/") + policy).c_str(),
                                     [policy](benchmark::State& state) { run(state, policy); });
    bench->ArgName("jobs")->Unit(benchmark::kMillisecond)->Iterations(1);
    for (const int jobs : {1'000, 10'000, 100'000}) {
      bench->Arg(jobs);
    }
  }
  return true;
}();

}  // namespace
}  // namespace rubato
