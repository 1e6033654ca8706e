#include "rubato/cli/simulate/comparison_run.h"

#include <algorithm>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "rubato/cli/simulate/isolated_runs.h"
#include "rubato/cli/simulate/peak_memory.h"
#include "rubato/cli/text/progress_bar.h"

namespace rubato {
namespace {

// Which report a run belongs to.
struct Place {
  std::size_t group = 0;
  std::size_t policy = 0;
  int seed = 0;
};

std::vector<Place> places_of(const ComparisonRequest& request) {
  std::vector<Place> places;
  for (std::size_t group = 0; group < request.groups.size(); ++group) {
    for (std::size_t policy = 0; policy < request.policies.size(); ++policy) {
      for (int seed = 0; seed < request.seeds; ++seed) {
        places.push_back({.group = group, .policy = policy, .seed = seed});
      }
    }
  }
  return places;
}

BatchRun run_at(const Place& place, const ComparisonRequest& request) {
  const GroupRequest& group = request.groups[place.group];
  const auto seed = static_cast<std::size_t>(place.seed);
  BatchRun run{.jobs = &(*group.workloads)[seed % group.workloads->size()],
               .speeds = group.speeds,
               .options = request.options};
  run.options.policy = request.policies[place.policy];
  run.options.seed += seed;
  run.options.faults.noise = std::max(run.options.faults.noise, group.noise);
  run.options.keep_bars = request.keep_history && place.seed == 0;
  return run;
}

// Reports without numbers yet.
std::vector<RunGroup> empty_groups(const ComparisonRequest& request) {
  std::vector<RunGroup> groups;
  for (const GroupRequest& each : request.groups) {
    RunGroup group{.trace = each.trace, .noise = each.noise};
    for (const std::string& policy : request.policies) {
      RunReport report{.policy = policy};
      report.seeds.resize(request.seeds > 1 ? static_cast<std::size_t>(request.seeds) : 0);
      group.runs.push_back(std::move(report));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

RunNumbers numbers_of(const SimResult& result) {
  return {.summary = summarize(result.history),
          .decision_p50_seconds = result.decision_p50_seconds,
          .decision_p99_seconds = result.decision_p99_seconds,
          .decision_max_seconds = result.decision_max_seconds,
          .wall_seconds = result.wall_seconds,
          .peak_rss_bytes = peak_rss_bytes()};
}

// Writes a result into its report, which is returned.
RunReport& take(const Result<RunNumbers>& result, const Place& place, ComparedRuns& runs) {
  RunReport& report = runs.groups[place.group].runs[place.policy];
  if (!result) {
    report.failure = result.error().message;
    return report;
  }
  if (!report.seeds.empty()) {
    report.seeds[static_cast<std::size_t>(place.seed)] = result->summary;
  }
  report.peak_rss_bytes = std::max(report.peak_rss_bytes, result->peak_rss_bytes);
  if (place.seed == 0) {
    report.summary = result->summary;
    report.decision_p50_seconds = result->decision_p50_seconds;
    report.decision_p99_seconds = result->decision_p99_seconds;
    report.decision_max_seconds = result->decision_max_seconds;
    report.wall_seconds = result->wall_seconds;
  }
  return report;
}

/// All runs of one call, and where their results go.
struct Work {
  const Topology& topology;
  std::vector<Place> places{};
  std::vector<BatchRun> runs{};
  ProgressBar& bar;
  ComparedRuns& compared;
};

void run_together(const Work& work, bool keep_history) {
  const auto take_whole = [&](std::size_t run, Result<SimResult> result) {
    const Place& place = work.places[run];
    if (!result) {
      take(result.error(), place, work.compared);
    } else {
      RunReport& report = take(numbers_of(*result), place, work.compared);
      if (keep_history && place.seed == 0) {
        work.compared.histories.push_back(std::move(result->history));
        report.history = &work.compared.histories.back();
      }
    }
    work.bar.finish(run);
  };
  simulate_all(work.runs, work.topology, std::thread::hardware_concurrency(),
               {.on_progress = [&](std::size_t run, std::size_t done,
                                   std::size_t all) { work.bar.update(run, done, all); },
                .on_result = take_whole});
}

void run_apart(const Work& work, double limit_seconds) {
  const auto simulate_one = [&](std::size_t run, const auto& tell) -> Result<RunNumbers> {
    const BatchRun& own = work.runs[run];
    tell(0, own.jobs->size());
    const auto result = simulate(*own.jobs, work.topology, *own.speeds, own.options,
                                 SimWatcher{.on_progress = tell});
    return result ? Result<RunNumbers>(numbers_of(*result)) : result.error();
  };
  run_isolated({.count = work.runs.size(),
                .at_once = std::thread::hardware_concurrency(),
                .limit_seconds = limit_seconds,
                .work = simulate_one,
                .on_progress = [&](std::size_t run, std::size_t done,
                                   std::size_t all) { work.bar.update(run, done, all); },
                .on_result =
                    [&](std::size_t run, const Result<RunNumbers>& result) {
                      take(result, work.places[run], work.compared);
                      work.bar.finish(run);
                    }});
}

}  // namespace

ComparedRuns run_comparison(const ComparisonRequest& request, const Topology& topology) {
  ComparedRuns compared{.groups = empty_groups(request)};
  std::vector<Place> places = places_of(request);
  std::vector<BatchRun> runs;
  std::vector<std::string> names;
  for (const Place& place : places) {
    runs.push_back(run_at(place, request));
    names.push_back(runs.back().options.policy);
  }
  ProgressBar bar(std::move(names), isatty(STDERR_FILENO) == 1, request.is_quiet);
  const Work work{.topology = topology,
                  .places = std::move(places),
                  .runs = std::move(runs),
                  .bar = bar,
                  .compared = compared};
  if (request.is_isolated && !request.keep_history) {
    run_apart(work, request.options.limit_seconds);
  } else {
    run_together(work, request.keep_history);
  }
  return compared;
}

}  // namespace rubato
