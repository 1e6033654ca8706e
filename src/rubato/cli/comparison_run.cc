#include "rubato/cli/comparison_run.h"

#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "rubato/cli/progress_bar.h"

namespace rubato {
namespace {

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::vector<BatchRun> runs_of(const ComparisonRequest& request) {
  std::vector<BatchRun> runs;
  for (const std::string& policy : request.policies) {
    for (int seed = 0; seed < request.seeds; ++seed) {
      BatchRun run{
          .jobs = &(*request.workloads)[static_cast<std::size_t>(seed) % request.workloads->size()],
          .options = request.options};
      run.options.policy = policy;
      run.options.seed += static_cast<std::uint64_t>(seed);
      run.options.keep_bars = request.keep_history && seed == 0;
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace

Result<Comparison> compare(const ComparisonRequest& request, const Topology& topology,
                           const SpeedBook& speeds) {
  const std::vector<BatchRun> runs = runs_of(request);
  std::vector<Result<SimResult>> results;
  {
    ProgressBar bar(runs.size(), isatty(STDERR_FILENO) == 1, request.is_quiet);
    results = simulate_all(
        runs, topology, speeds, std::thread::hardware_concurrency(),
        [&](std::size_t run, std::size_t done, std::size_t all) { bar.update(run, done, all); });
  }
  Comparison comparison;
  comparison.histories.resize(request.policies.size());
  for (std::size_t p = 0; p < request.policies.size(); ++p) {
    RunReport report{.policy = request.policies[p]};
    for (int seed = 0; seed < request.seeds; ++seed) {
      auto& result =
          results[p * static_cast<std::size_t>(request.seeds) + static_cast<std::size_t>(seed)];
      if (!result) {
        return result.error();
      }
      const Summary summary = summarize(result->history);
      if (request.seeds > 1) {
        report.seeds.push_back(summary);
      }
      if (seed > 0) {
        continue;
      }
      report.summary = summary;
      report.decision_p50_seconds = result->decision_p50_seconds;
      report.decision_p99_seconds = result->decision_p99_seconds;
      report.decision_max_seconds = result->decision_max_seconds;
      report.wall_seconds = result->wall_seconds;
      if (request.keep_history) {
        comparison.histories[p] = std::move(result->history);
        report.history = &comparison.histories[p];
      }
    }
    comparison.reports.push_back(std::move(report));
  }
  for (RunReport& report : comparison.reports) {
    report.peak_rss_bytes = peak_rss_bytes();
  }
  return comparison;
}

}  // namespace rubato
