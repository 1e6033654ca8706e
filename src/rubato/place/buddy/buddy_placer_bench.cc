// Limit: a million place/release pairs in a pool of 100,000 GPUs take a few seconds, that is, a few
// microseconds each, and not more in a larger pool than its depth explains.
#include "rubato/place/buddy/buddy_placer.h"

#include <vector>

#include <benchmark/benchmark.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

constexpr PoolId kPool{0};

Topology racked_machines(int gpus) {
  const NodeGroup group{
      .nodes = gpus / 8, .gpus_per_node = 8, .nodes_per_rack = 32, .gpus_per_switch = 4};
  return Topology(std::span(&group, 1));
}

// Keeps the pool nine tenths full: releases the oldest job, places one of `sizes` workers.
void churn(benchmark::State& state, std::span<const int> sizes) {
  const Topology topology = racked_machines(static_cast<int>(state.range(0)));
  BuddyPlacer placer(topology);
  Random random(1);
  std::uint64_t oldest = 0;
  std::uint64_t next = 0;
  const auto place_one = [&] {
    const auto last = static_cast<std::int64_t>(sizes.size()) - 1;
    const int workers = sizes[static_cast<std::size_t>(random.integer(0, last))];
    benchmark::DoNotOptimize(
        placer.place({.job = JobId{next++}, .pool = kPool, .workers = workers}));
  };
  while (placer.free_gpus(kPool) > topology.gpus() / 10) {
    place_one();
  }
  for (auto _ : state) {
    placer.release(JobId{oldest++});
    while (placer.free_gpus(kPool) > topology.gpus() / 10) {
      place_one();
    }
  }
}

void place_powers_of_two(benchmark::State& state) {
  const std::vector<int> sizes{1, 1, 2, 2, 4, 4, 8, 16, 32};
  churn(state, sizes);
}

void place_odd_counts(benchmark::State& state) {
  const std::vector<int> sizes{1, 3, 5, 6, 7, 11, 24, 40};
  churn(state, sizes);
}

// A full pool of single-GPU jobs with every eighth gone: room for one job of eight.
void make_room(benchmark::State& state) {
  const Topology topology = racked_machines(static_cast<int>(state.range(0)));
  BuddyPlacer full(topology);
  std::vector<JobId> movable;
  for (int job = 0; job < topology.gpus(); ++job) {
    movable.push_back(JobId{static_cast<std::uint64_t>(job)});
    benchmark::DoNotOptimize(full.place({.job = movable.back(), .pool = kPool, .workers = 1}));
  }
  for (std::size_t job = 0; job < movable.size(); job += 8) {
    full.release(movable[job]);
  }
  for (auto _ : state) {
    state.PauseTiming();
    BuddyPlacer placer = full;
    state.ResumeTiming();
    benchmark::DoNotOptimize(
        placer.make_room({.job = JobId{movable.size()}, .pool = kPool, .workers = 8}, movable));
  }
}

BENCHMARK(place_powers_of_two)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(place_odd_counts)->Arg(1'000)->Arg(100'000);
BENCHMARK(make_room)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rubato
