// Rounds of the policies that maximise goodput, and the fit behind them, in processor time.
//
// Round/pollux and Round/sia: one iteration is a round over jobs whose models have just changed, so
// that nothing is remembered from the round before. Round/*_steady are rounds with the same models
// as before. The reference (spec of Pollux and Sia, measured on another machine): Pollux's
// genetic search takes 1.3 to 5.9 s for 8 to 64 jobs on 64 GPUs, Sia's program 6.6 s for 2,048 jobs
// on 2,048 GPUs, one fit 0.2 s.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "rubato/base/random.h"
#include "rubato/policy/registry.h"
#include "rubato/predict/goodput_book.h"
#include "rubato/predict/throughput_fit.h"

namespace rubato {
namespace {

// A model somewhere between the measured applications of Pollux's simulator.
ThroughputModel random_model(Random& random) {
  const double node = random.uniform(0.005, 0.2);
  return {.pass_constant = random.uniform(0.01, 0.2),
          .pass_per_sample = random.uniform(0.0003, 0.01),
          .node_constant = node,
          .node_per_worker = random.uniform(0.0001, 0.002),
          .wide_constant = node * random.uniform(1.2, 4),
          .wide_per_worker = random.uniform(0.0005, 0.01),
          .gamma = random.uniform(1, 5)};
}

StepObservation observed(const ThroughputModel& model, int nodes, int workers, int local_batch,
                         Random& random) {
  return {.nodes = nodes,
          .workers = workers,
          .local_batch = local_batch,
          .pass_seconds = model.pass_seconds(local_batch),
          .step_seconds = model.step_seconds(nodes, workers, {.local = local_batch}),
          .gradient_squared = random.uniform(0.01, 1),
          .gradient_variance = random.uniform(0.1, 10)};
}

/// Jobs that have run before, on as many GPUs as they could be given now.
class Hall {
 public:
  Hall(std::string_view policy, std::string_view cluster, int jobs)
      : topology_(Topology::parse(cluster).value()),
        speeds_(rows(topology_), topology_),
        costs_(ResizeCostModel::Physical, topology_.gpus(), std::chrono::seconds{60},
               std::chrono::seconds{30}),
        policy_(make_policy(policy).value()) {
    for (const Pool& pool : topology_.pools()) {
      capacity_.push_back(pool.gpus);
    }
    for (int i = 0; i < jobs; ++i) {
      add(static_cast<std::uint64_t>(i));
    }
  }

  /// Every job reports something new: its models, and what was remembered of them, are stale.
  void change_models() {
    ++rounds_;
    jobs_.for_each([&](const JobState& job) {
      for (const Pool& pool : topology_.pools()) {
        StepObservation step = observed(models_[job.id().value], 1, 1, 8, random_);
        step.gradient_variance = 1 + 0.001 * rounds_;
        goodputs_.observe(job.job, pool.id, step);
      }
    });
  }
  Decision round() {
    return policy_->on(Tick{}, View{.now = at_seconds(1'000 + 60 * rounds_),
                                    .topology = topology_,
                                    .capacity = capacity_,
                                    .jobs = jobs_,
                                    .speeds = speeds_,
                                    .goodputs = &goodputs_,
                                    .costs = costs_,
                                    .slot = std::chrono::seconds{60},
                                    .random = random_});
  }

 private:
  static std::vector<SpeedRow> rows(const Topology& topology) {
    std::vector<SpeedRow> rows;
    for (const Pool& pool : topology.pools()) {
      for (int gpus = 1; gpus <= 64; gpus *= 2) {
        rows.push_back(SpeedRow{.gpu_type = pool.gpu_type,
                                .model = "net",
                                .batch = 128,
                                .gpus = gpus,
                                .speed = std::pow(gpus, 0.8)});
      }
    }
    return rows;
  }

  void add(std::uint64_t id) {
    Job job{.id = JobId{id}, .job_class = JobClass::BestEffort, .work = 1e6, .model = "net"};
    job.batch = 128;
    job.batches = {.initial = 128, .max = 8'192, .local_min = 8, .local_max = 256};
    JobState& state = jobs_.insert(job);
    state.speed = speeds_.resolve(job);
    state.admitted = true;
    goodputs_.arrive(job);
    models_.push_back(random_model(random_));
    for (const Pool& pool : topology_.pools()) {
      for (const auto& [nodes, workers] : {std::pair(1, 1), std::pair(1, 2), std::pair(8, 32)}) {
        goodputs_.observe(job, pool.id, observed(models_.back(), nodes, workers, 16, random_));
      }
    }
  }

  Topology topology_;
  SpeedBook speeds_;
  GoodputBook goodputs_;
  ResizeCost costs_;
  std::unique_ptr<Policy> policy_;
  std::vector<int> capacity_;
  JobTable jobs_;
  std::vector<ThroughputModel> models_;
  Random random_{7};
  int rounds_ = 0;
};

void hold_rounds(benchmark::State& state, std::string_view policy, const std::string& cluster,
                 bool is_steady) {
  Hall hall(policy, cluster, static_cast<int>(state.range(0)));
  hall.change_models();
  benchmark::DoNotOptimize(hall.round());
  for (auto _ : state) {
    if (!is_steady) {
      state.PauseTiming();
      hall.change_models();
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(hall.round());
  }
}

void pollux(benchmark::State& state) {
  hold_rounds(state, "pollux", std::to_string(state.range(1) / 4) + "x4", false);
}

void pollux_steady(benchmark::State& state) {
  hold_rounds(state, "pollux", std::to_string(state.range(1) / 4) + "x4", true);
}

// In the proportions of Sia's heterogeneous cluster: 24 T4, 16 A100 and 24 RTX of 64.
std::string three_types(std::int64_t gpus) {
  return std::to_string(gpus * 24 / 64 / 4) + "x4:T4+" + std::to_string(gpus * 16 / 64 / 8) +
         "x8:A100+" + std::to_string(gpus * 24 / 64 / 8) + "x8:RTX";
}

void sia(benchmark::State& state) { hold_rounds(state, "sia", three_types(state.range(1)), false); }

void sia_steady(benchmark::State& state) {
  hold_rounds(state, "sia", three_types(state.range(1)), true);
}

void fit(benchmark::State& state) {
  Random random(5);
  std::vector<std::vector<StepObservation>> samples;
  for (int i = 0; i < 32; ++i) {
    const ThroughputModel model = random_model(random);
    std::vector<StepObservation> sample;
    for (std::int64_t k = 0; k < state.range(0); ++k) {
      const int workers = 1 << random.integer(0, 5);
      const int nodes = workers > 4 ? workers / 4 : 1;
      const int local_batch = static_cast<int>(random.integer(8, 256));
      sample.push_back(observed(model, nodes, workers, local_batch, random));
    }
    samples.push_back(std::move(sample));
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(fit_throughput(samples[next++ % samples.size()]));
  }
}

BENCHMARK(pollux)
    ->Name("Round/pollux")
    ->ArgNames({"jobs", "gpus"})
    ->Args({8, 64})
    ->Args({64, 64})
    ->Args({160, 64})
    ->Args({1'000, 4'096})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(pollux_steady)
    ->Name("Round/pollux_steady")
    ->ArgNames({"jobs", "gpus"})
    ->Args({8, 64})
    ->Args({64, 64})
    ->Args({160, 64})
    ->Args({1'000, 4'096})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(sia)
    ->Name("Round/sia")
    ->ArgNames({"jobs", "gpus"})
    ->Args({64, 64})
    ->Args({160, 64})
    ->Args({1'000, 4'096})
    ->Args({2'048, 2'048})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(sia_steady)
    ->Name("Round/sia_steady")
    ->ArgNames({"jobs", "gpus"})
    ->Args({64, 64})
    ->Args({160, 64})
    ->Args({1'000, 4'096})
    ->Args({2'048, 2'048})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(fit)
    ->Name("Fit/throughput")
    ->ArgName("observations")
    ->Arg(1)
    ->Arg(5)
    ->Arg(20)
    ->Arg(40)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rubato
