#include "rubato/cli/sim_verb.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/base/random.h"
#include "rubato/base/spelling.h"
#include "rubato/cli/comparison_run.h"
#include "rubato/cli/exit_code.h"
#include "rubato/cli/policy_names.h"
#include "rubato/cli/profiles_dir.h"
#include "rubato/cli/report_files.h"
#include "rubato/cli/trace_file.h"
#include "rubato/cli/trace_speeds.h"
#include "rubato/policy/registry.h"
#include "rubato/report/json.h"
#include "rubato/report/table.h"
#include "rubato/sim/workload.h"

namespace rubato {
namespace {

constexpr int kSeedsMax = 1'000;
constexpr std::size_t kNotesMax = 12;  // Lines on speeds and work; more are counted.

/// What all traces of one call have in common.
struct Setup {
  Topology topology{};
  std::vector<SpeedRow> rows{};
  SimOptions options{};
  std::vector<std::string> policies{};
};

Result<Accounting> parse_accounting(std::string_view text) {
  constexpr std::array<std::string_view, 3> kKnown = {"artifact", "physical", "none"};
  for (const Accounting each : {Accounting::Artifact, Accounting::Physical, Accounting::None}) {
    if (text == to_string(each)) {
      return each;
    }
  }
  return bad_input(fmt::format("--overhead: unknown '{}'{}", text, suggestion(text, kKnown)));
}

// The policies to run; an objective alone picks the one that is best at it.
Result<std::vector<std::string>> parse_policies(const SimArguments& arguments) {
  constexpr std::array<std::string_view, 4> kObjectives = {"deadlines", "jct", "value", "fair"};
  constexpr std::array<std::string_view, 4> kBest = {"elasticflow", "srtf", "elasticflow",
                                                     "tiresias"};
  const auto objective = std::ranges::find(kObjectives, arguments.objective);
  if (objective == kObjectives.end()) {
    return bad_input(fmt::format("--objective: unknown '{}'{}", arguments.objective,
                                 suggestion(arguments.objective, kObjectives)));
  }
  if (arguments.policies.empty()) {
    return std::vector<std::string>{
        std::string(kBest[static_cast<std::size_t>(objective - kObjectives.begin())])};
  }
  if (arguments.policies == std::vector<std::string>{"all"}) {
    std::vector<std::string> all;
    for (const PolicyInfo& info : all_policies()) {
      all.emplace_back(info.name);
    }
    return all;
  }
  for (const std::string& policy : arguments.policies) {
    if (const auto made = make_policy(policy); !made) {
      return made.error();
    }
  }
  return arguments.policies;
}

Result<Setup> set_up(const SimArguments& arguments) {
  auto topology = Topology::parse(arguments.cluster);
  auto accounting = parse_accounting(arguments.overhead);
  auto policies = parse_policies(arguments);
  auto faults = FaultOptions::parse(arguments.faults);
  auto tenants = parse_tenants(arguments.tenants);
  for (const Error* error :
       {topology ? nullptr : &topology.error(), accounting ? nullptr : &accounting.error(),
        policies ? nullptr : &policies.error(), faults ? nullptr : &faults.error(),
        tenants ? nullptr : &tenants.error()}) {
    if (error != nullptr) {
      return *error;
    }
  }
  auto rows = load_speeds(arguments.speeds);
  if (!rows) {
    return rows.error();
  }
  faults->noise = std::max(faults->noise, arguments.noise);
  return Setup{.topology = *topology,
               .rows = *std::move(rows),
               .options = SimOptions{.accounting = *accounting,
                                     .slot = from_seconds(arguments.slot_seconds),
                                     .seed = arguments.seed,
                                     .faults = *faults,
                                     .tenants = *tenants,
                                     .placer = arguments.placer},
               .policies = *policies};
}

// The same jobs with deadlines drawn anew: arrival + U(0.5, 1.5) * run time as requested.
std::vector<Job> with_new_deadlines(std::vector<Job> jobs, const SpeedBook& speeds,
                                    const Topology& topology, std::uint64_t seed) {
  Random random(seed);
  for (Job& job : jobs) {
    const double tightness = random.uniform(0.5, 1.5);
    if (job.has_deadline()) {
      const Alone by_itself = alone(job, speeds.find(job), speeds, topology);
      job.deadline = later(job.arrival, from_seconds(tightness * to_seconds(by_itself.requested)));
    }
  }
  return jobs;
}

/// A trace ready to run, with the speeds its jobs have.
struct LoadedTrace {
  SpeedBook speeds;
  Workload workload{};
};

// Measured profiles, if given, go before the rows of a speeds file for the same kind of job.
Result<LoadedTrace> load_workload(const SimArguments& arguments, const Setup& setup,
                                  const std::string& trace) {
  std::vector<Diagnostic> diagnostics;
  auto jobs = load_trace(trace, arguments.format, diagnostics);
  if (!jobs) {
    return jobs.error();
  }
  std::vector<SpeedRow> rows = setup.rows;
  std::vector<std::string> notes;
  if (!arguments.profiles.empty()) {
    auto profiled = with_profiles(*std::move(jobs), arguments.profiles, setup.topology);
    if (!profiled) {
      return profiled.error();
    }
    jobs = std::move(profiled->jobs);
    notes = std::move(profiled->notes);
    rows = preferring(std::move(profiled->rows), std::move(rows));
  }
  LoadedTrace loaded{.speeds = SpeedBook(std::move(rows), setup.topology)};
  loaded.workload = prepare(*std::move(jobs), loaded.speeds);
  loaded.workload.notes.insert(loaded.workload.notes.begin(), notes.begin(), notes.end());
  return loaded;
}

/// One trace's results, with what a report says about them.
struct TraceRun {
  ReportHeader header{};
  Comparison comparison{};
};

Result<TraceRun> run_trace(const SimArguments& arguments, const Setup& setup,
                           const std::string& trace) {
  auto loaded = load_workload(arguments, setup, trace);
  if (!loaded) {
    return loaded.error();
  }
  SpeedBook& speeds = loaded->speeds;
  Workload& workload = loaded->workload;
  std::vector<std::vector<Job>> workloads;
  workloads.push_back(std::move(workload.jobs));
  for (int seed = 1; arguments.redraw_deadlines && seed < arguments.seeds; ++seed) {
    workloads.push_back(with_new_deadlines(workloads.front(), speeds, setup.topology,
                                           arguments.seed + static_cast<std::uint64_t>(seed)));
  }
  TraceRun run{.header = {.version = RUBATO_VERSION,
                          .trace = trace,
                          .cluster = arguments.cluster,
                          .seed = arguments.seed,
                          .overhead = arguments.overhead,
                          .slot_seconds = arguments.slot_seconds,
                          .command = arguments.command,
                          .provenance = std::move(workload.notes)}};
  auto comparison = compare(
      ComparisonRequest{.workloads = &workloads,
                        .policies = setup.policies,
                        .seeds = arguments.seeds,
                        .options = setup.options,
                        .keep_history = !arguments.html.empty() || !arguments.perfetto.empty(),
                        .is_quiet = arguments.json},
      setup.topology, speeds);
  if (!comparison) {
    return comparison.error();
  }
  run.comparison = *std::move(comparison);
  return run;
}

void print_table(const SimArguments& arguments, const TraceRun& run) {
  fmt::print(
      "{} on {}, overhead {}, slot {} s, seed {}{}\n", run.header.trace, run.header.cluster,
      run.header.overhead, run.header.slot_seconds, run.header.seed,
      arguments.seeds > 1
          ? fmt::format(" to {}", arguments.seed + static_cast<std::uint64_t>(arguments.seeds - 1))
          : "");
  for (std::size_t i = 0; i < std::min(run.header.provenance.size(), kNotesMax); ++i) {
    fmt::print("  {}\n", run.header.provenance[i]);
  }
  if (run.header.provenance.size() > kNotesMax) {
    fmt::print("  and {} more\n", run.header.provenance.size() - kNotesMax);
  }
  if (arguments.bound && !run.comparison.reports.empty()) {
    fmt::print("  upper bound: {:.4f} of the deadlines can be met even alone on the cluster\n",
               run.comparison.reports.front().summary.deadline_upper_bound);
  }
  fmt::print("\n{}\n",
             table_report(run.comparison.reports, {.use_colour = isatty(STDOUT_FILENO) == 1}));
}

int fail(const Error& error) {
  fmt::print(stderr, "rubato sim: {}\n", error.message);
  return exit_code(error.code);
}

}  // namespace

int run_sim(const SimArguments& arguments) {
  const auto setup = set_up(arguments);
  if (!setup) {
    return fail(setup.error());
  }
  ReportHeader header;
  std::vector<RunReport> reports;
  std::vector<TraceRun> runs;
  for (const std::string& trace : arguments.traces) {
    auto run = run_trace(arguments, *setup, trace);
    if (!run) {
      return fail(run.error());
    }
    if (!arguments.json) {
      print_table(arguments, *run);
    }
    header.trace += (header.trace.empty() ? "" : ",") + run->header.trace;
    runs.push_back(*std::move(run));
  }
  for (TraceRun& run : runs) {
    for (RunReport& report : run.comparison.reports) {
      report.trace = runs.size() > 1 ? run.header.trace : "";
      reports.push_back(report);
    }
  }
  const std::string traces = header.trace;
  header = runs.front().header;
  header.trace = traces;
  if (arguments.json) {
    fmt::print("{}", json_report(header, reports));
  }
  const Status written = write_pictures(header, reports, setup->topology,
                                        {.html = arguments.html, .perfetto = arguments.perfetto});
  return written ? kExitOk : fail(written.error());
}

void add_sim_verb(CLI::App& app, int& code, const std::string& command) {
  CLI::App* verb = app.add_subcommand("sim", "Replay traces under one or more policies");
  const auto arguments = std::make_shared<SimArguments>();
  arguments->command = command;
  verb->add_option("--trace", arguments->traces, "Trace files")->required()->delimiter(',');
  verb->add_option("--format", arguments->format, "auto, or one of `rubato trace formats`");
  verb->add_option("--cluster", arguments->cluster, "NODESxGPUS[:TYPE][+...], such as 16x8:A100");
  verb->add_option("--policy", arguments->policies, "Policies, or all; see `rubato policy list`")
      ->delimiter('\x1f');
  verb->add_option("--speeds", arguments->speeds, "CSV of measured speeds");
  verb->add_option("--profiles", arguments->profiles,
                   "Folder of measured profiles, one subfolder per application");
  verb->add_option("--slot", arguments->slot_seconds, "Least seconds between two rounds")
      ->check(CLI::Range(0.001, 1e6));
  verb->add_option("--overhead", arguments->overhead, "artifact, physical or none");
  verb->add_option("--objective", arguments->objective,
                   "deadlines, jct, value or fair: picks the policy if none is named");
  verb->add_option("--noise", arguments->noise, "Spread of true speeds around the known ones")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--seed", arguments->seed, "First seed");
  verb->add_option("--seeds", arguments->seeds, "Number of seeds; gives confidence intervals")
      ->check(CLI::Range(1, kSeedsMax));
  verb->add_option("--faults", arguments->faults,
                   "node_mtbf=S,node_repair=S,worker_mtbf=S,straggler_mtbf=S,... in seconds");
  verb->add_option("--tenants", arguments->tenants,
                   "NAME=SHARE,...: the part of the cluster each is entitled to");
  verb->add_option("--placer", arguments->placer,
                   "buddy, or hived[:vc=TENANT:COUNTxGPUS[+...][/...]]");
  verb->add_flag("--redraw-deadlines", arguments->redraw_deadlines,
                 "Seeds after the first draw the deadlines anew");
  verb->add_flag("--bound", arguments->bound, "Print the upper bound of the deadline ratio");
  verb->add_option("--html", arguments->html, "Write a self-contained HTML report");
  verb->add_option("--perfetto", arguments->perfetto, "Write a trace for ui.perfetto.dev");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments, &code] {
    arguments->policies = split_policies(arguments->policies);
    code = run_sim(*arguments);
  });
}

}  // namespace rubato
