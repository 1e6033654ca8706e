// The ledger alone, against the number of reservations on it.
#include "rubato/core/ledger.h"

#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "rubato/base/random.h"
#include "rubato/policy/elasticflow/progressive_filling.h"

namespace rubato {
namespace {

constexpr int kGpus = 100'000;
constexpr double kHorizon = 1e6;  // Seconds.

struct Reservation {
  Instant from{};
  Instant to{};
  int gpus = 1;
};

Reservation draw(Random& random) {
  const double from = random.uniform(0, kHorizon);
  return Reservation{.from = at_seconds(from),
                     .to = at_seconds(from + random.uniform(60, kHorizon / 4)),
                     .gpus = static_cast<int>(random.integer(1, 8))};
}

std::vector<Reservation> fill_ledger(Ledger& ledger, std::int64_t count, Random& random) {
  std::vector<Reservation> held;
  for (std::int64_t i = 0; i < count; ++i) {
    held.push_back(draw(random));
    ledger.reserve(held.back().from, held.back().to, held.back().gpus);
  }
  return held;
}

// Takes the oldest reservation back and makes a new one.
void turn_over(benchmark::State& state) {
  Random random(1);
  Ledger ledger(kGpus);
  std::vector<Reservation> held = fill_ledger(ledger, state.range(0), random);
  std::size_t oldest = 0;
  for (auto _ : state) {
    Reservation& each = held[oldest++ % held.size()];
    ledger.release(each.from, each.to, each.gpus);
    each = draw(random);
    ledger.reserve(each.from, each.to, each.gpus);
  }
  state.counters["breakpoints"] = static_cast<double>(ledger.breakpoints());
}

// The earliest fit of a job for which there is room only after everything else.
void walk_all(benchmark::State& state) {
  Random random(1);
  Ledger ledger(kGpus);
  fill_ledger(ledger, state.range(0), random);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ledger.earliest_fit(Instant{}, from_seconds(kHorizon), kGpus));
  }
}

// Plans one job with progressive filling beside all reservations.
void fill_one(benchmark::State& state) {
  Random random(1);
  Ledger ledger(kGpus);
  fill_ledger(ledger, state.range(0), random);
  const ScalingCurve curve({{.workers = 1, .speed = 1},
                            {.workers = 2, .speed = 1.9},
                            {.workers = 4, .speed = 3.5},
                            {.workers = 8, .speed = 6}});
  const policy::elasticflow::FillRequest request{.curve = &curve,
                                                 .work = kHorizon,
                                                 .deadline = at_seconds(kHorizon / 3),
                                                 .shape = policy::elasticflow::FillShape::Late};
  for (auto _ : state) {
    benchmark::DoNotOptimize(policy::elasticflow::fill(request, ledger));
  }
}

BENCHMARK(turn_over)
    ->Name("Ledger/turn_over")
    ->ArgName("reservations")
    ->RangeMultiplier(10)
    ->Range(10, 10'000);
BENCHMARK(walk_all)
    ->Name("Ledger/earliest_fit")
    ->ArgName("reservations")
    ->RangeMultiplier(10)
    ->Range(10, 10'000);
BENCHMARK(fill_one)
    ->Name("Ledger/fill")
    ->ArgName("reservations")
    ->RangeMultiplier(10)
    ->Range(10, 10'000);

}  // namespace
}  // namespace rubato
