// What decisions cost against the number of active jobs and of GPUs, in processor time.
//
// One iteration is a completion, an arrival and the rounds they cause. More jobs on the same
// cluster are also a fuller cluster (1,000 jobs are at ease on 10,000 GPUs, 10,000 stop each
// other), so in `*_even` it grows with them: ten GPUs for each job under `elasticflow_even`, one
// (too few) under the others. `elasticflow_congested` has four, all of them promised, and a second
// arrival that makes the policy plan all jobs anew.
//
// Limit: with 1,000 active jobs and up to 10,000 GPUs the 99th percentile of single decisions stays
// under 10 ms. A run that crosses it is marked as an error, and tools/bench_growth.py fails on it.
#include <array>
#include <string>

#include <benchmark/benchmark.h>

#include "loaded_engine.h"

namespace rubato {
namespace {

constexpr int kTurns = 250;  // Four decisions or more each: enough for a 99th percentile.
constexpr double kP99SecondsMax = 0.010;
constexpr int kLimitJobs = 1'000;
constexpr int kLimitGpus = 10'000;
constexpr int kFewGpus = 64;

struct Subject {
  const char* name;
  const char* policy;
  Pressure pressure = Pressure::Roomy;
};

/// The cluster grows with the jobs, so that what is decided stays alike.
struct EvenSubject {
  Subject subject;
  int gpus_per_job;
};

constexpr std::array<EvenSubject, 4> kEvenSubjects = {{
    {{"Decision/srtf_even", "srtf"}, 1},
    {{"Decision/tiresias_even", "tiresias"}, 1},
    {{"Decision/elasticflow_even", "elasticflow"}, 10},
    {{"Decision/elasticflow_congested", "elasticflow", Pressure::Congested}, 4},
}};
constexpr std::array<Subject, 5> kSubjects = {{
    {"Decision/fifo", "fifo"},
    {"Decision/srtf", "srtf"},
    {"Decision/tiresias", "tiresias"},
    {"Decision/edf", "edf"},
    {"Decision/elasticflow", "elasticflow"},
}};

void decide(benchmark::State& state, const Subject& subject, int jobs, int gpus) {
  LoadedEngine loaded(LoadOptions{
      .policy = subject.policy, .jobs = jobs, .gpus = gpus, .pressure = subject.pressure});
  for (auto _ : state) {
    state.SetIterationTime(loaded.turn_over());
  }
  const std::vector<double> decisions = loaded.sorted_decisions();
  const double p99 = percentile_of(decisions, 0.99);
  state.counters["decisions"] = static_cast<double>(decisions.size());
  state.counters["changes_per_decision"] =
      static_cast<double>(loaded.changes()) / static_cast<double>(decisions.size());
  state.counters["decision_p50_us"] = percentile_of(decisions, 0.50) * 1e6;
  state.counters["decision_p99_us"] = p99 * 1e6;
  state.counters["decision_max_us"] = percentile_of(decisions, 1.00) * 1e6;
  state.counters["active_jobs"] = static_cast<double>(loaded.engine().state().jobs.size());
  state.counters["peak_rss_bytes"] = most_memory_bytes();
  if (jobs == kLimitJobs && gpus <= kLimitGpus && p99 > kP99SecondsMax) {
    state.SkipWithError("the 99th percentile is above 10 ms");
  }
}

int range(const benchmark::State& state, std::size_t index) {
  return static_cast<int>(state.range(index));
}

void finish(benchmark::internal::Benchmark* bench) {
  bench->Iterations(kTurns)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

// All numbers of jobs on 10,000 GPUs, then all numbers of GPUs under 1,000 jobs, and on the fewest
// GPUs all numbers of jobs for which these are too few.
[[maybe_unused]] const bool kDecisionsRegistered = [] {
  for (const Subject& subject : kSubjects) {
    auto* bench = benchmark::RegisterBenchmark(subject.name, [&subject](benchmark::State& state) {
      decide(state, subject, range(state, 0), range(state, 1));
    });
    bench->ArgNames({"jobs", "gpus"});
    for (const int jobs : {10, 100, 1'000, 10'000}) {
      bench->Args({jobs, kLimitGpus});
    }
    for (const int gpus : {kFewGpus, 1'024, 100'000}) {
      bench->Args({kLimitJobs, gpus});
    }
    bench->Args({100, kFewGpus})->Args({10'000, kFewGpus});
    finish(bench);
  }
  for (const EvenSubject& even : kEvenSubjects) {
    auto* bench = benchmark::RegisterBenchmark(even.subject.name, [&even](benchmark::State& state) {
      decide(state, even.subject, range(state, 0), even.gpus_per_job * range(state, 0));
    });
    bench->ArgName("jobs")->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000);
    finish(bench);
  }
  return true;
}();

}  // namespace
}  // namespace rubato
