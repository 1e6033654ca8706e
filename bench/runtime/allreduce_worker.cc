#include "bench/runtime/allreduce_worker.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/runtime/contender.h"

namespace rubato {
namespace {

using Clock = std::chrono::steady_clock;

/// Sums in one measurement: short ones are repeated until a clock can tell.
int repeats_for(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>((std::size_t{32} << 20U) / bytes, 2, 200));
}

/// Microseconds for one sum, as this rank sees it; negative if it failed.
double measured(Communicator& group, Contender& contender, std::size_t bytes) {
  const std::size_t floats = bytes / sizeof(float);
  ReduceReport report;
  if (!contender.all_reduce(floats) || !group.reduce({}, report).ok()) {
    return -1;
  }
  const int repeats = repeats_for(bytes);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < repeats; ++i) {
    if (!contender.all_reduce(floats)) {
      return -1;
    }
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / repeats;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int run_allreduce_worker(const AllReduceWorker& worker) {
  BenchCrew crew{.directory = worker.directory,
                 .rank = worker.rank,
                 .size = worker.size,
                 .floats_max = kAllReduceBytes.back() / sizeof(float)};
  std::vector<std::unique_ptr<Contender>> contenders;
#if defined(RUBATO_BENCH_MPI)
  if (worker.has_mpi) {
    contenders.push_back(make_mpi_contender(crew));
  }
#endif
  OwnContender own = make_own_contender(crew);
  contenders.push_back(std::move(own.contender));
#if defined(RUBATO_BENCH_GLOO)
  contenders.push_back(make_gloo_contender(crew));
  contenders.push_back(make_tcp_contender(crew));
#endif
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> times;
  for (int round = 0; round < worker.rounds; ++round) {
    for (const std::size_t bytes : kAllReduceBytes) {
      for (const auto& contender : contenders) {
        const double micros = measured(*own.group, *contender, bytes);
        if (micros < 0) {
          return 1;
        }
        times[{contender->name(), bytes}].push_back(micros);
      }
    }
  }
  if (crew.rank == 0) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& [key, values] : times) {
      rows.push_back({{"contender", key.first},
                      {"bytes", key.second},
                      {"processes", crew.size},
                      {"rounds", worker.rounds},
                      {"median_us", median_of(values)},
                      {"min_us", *std::ranges::min_element(values)}});
    }
    std::ofstream(worker.directory + "/results.json") << rows;
  }
  // The group goes last: it keeps the others in step until all have finished.
  ReduceReport report;
  const bool ended = own.group->reduce({}, report).ok();
  contenders.clear();
  return ended ? 0 : 1;
}

}  // namespace rubato
