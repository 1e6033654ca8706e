#include "rubato/cli/simulate/sim_verb.h"

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/base/spelling.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/verb_failure.h"
#include "rubato/cli/simulate/comparison_run.h"
#include "rubato/cli/simulate/policy_names.h"
#include "rubato/cli/simulate/report_files.h"
#include "rubato/cli/simulate/sim_workload.h"
#include "rubato/cli/trace/trace_speeds.h"
#include "rubato/policy/registry.h"
#include "rubato/report/html_page.h"
#include "rubato/report/json.h"
#include "rubato/report/table.h"

namespace rubato {
namespace {

constexpr int kSeedsMax = 1'000;
constexpr std::string_view kAll = "all";
constexpr std::size_t kNotesMax = 12;  // Lines on speeds and work; more are counted.

/// What all traces of one call have in common.
struct Setup {
  Topology topology{};
  std::vector<SpeedRow> rows{};
  SimOptions options{};
  std::vector<std::string> policies{};
  bool asked_for_all = false;
  std::vector<double> noises{};

  /// Many policies, traces or noises: one table over all of them.
  [[nodiscard]] bool is_tournament(const SimArguments& arguments) const {
    return asked_for_all || arguments.traces.size() > 1 || noises.size() > 1;
  }
};

Result<ResizeCostModel> parse_accounting(std::string_view text) {
  constexpr std::array<std::string_view, 3> kKnown = {"artifact", "physical", "none"};
  for (const ResizeCostModel each :
       {ResizeCostModel::Artifact, ResizeCostModel::Physical, ResizeCostModel::None}) {
    if (text == to_string(each)) {
      return each;
    }
  }
  return bad_input(fmt::format("--overhead: unknown '{}'{}", text, suggestion(text, kKnown)));
}

template <typename T>
void add_once(T value, std::vector<T>& values) {
  if (std::ranges::find(values, value) == values.end()) {
    values.push_back(std::move(value));
  }
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
  std::vector<std::string> policies;
  for (const std::string& policy : arguments.policies) {
    if (policy == kAll) {
      for (const PolicyInfo& info : all_policies()) {
        add_once(std::string(info.name), policies);
      }
      continue;
    }
    if (const auto made = make_policy(policy); !made) {
      return made.error();
    }
    add_once(policy, policies);
  }
  return policies;
}

// Measured profiles are replayed as in the simulator they come from, unless the user says
// otherwise.
constexpr double kProfileRestart = 30;

Result<bool> parse_rounds(const SimArguments& arguments) {
  constexpr std::array<std::string_view, 2> kKnown = {"grid", "events"};
  if (!arguments.rounds.empty() && std::ranges::find(kKnown, arguments.rounds) == kKnown.end()) {
    return bad_input(fmt::format("--rounds: unknown '{}'{}", arguments.rounds,
                                 suggestion(arguments.rounds, kKnown)));
  }
  return arguments.rounds.empty() ? !arguments.profiles.empty() : arguments.rounds == "grid";
}

Duration restart_of(const SimArguments& arguments) {
  if (arguments.restart_seconds >= 0) {
    return from_seconds(arguments.restart_seconds);
  }
  return arguments.profiles.empty() ? kByModel : from_seconds(kProfileRestart);
}

Result<Setup> set_up(const SimArguments& arguments) {
  auto topology = Topology::parse(arguments.cluster);
  auto accounting = parse_accounting(arguments.overhead);
  auto policies = parse_policies(arguments);
  auto faults = FaultOptions::parse(arguments.faults);
  auto tenants = parse_tenants(arguments.tenants);
  const auto grid = parse_rounds(arguments);
  for (const Error* error :
       {topology ? nullptr : &topology.error(), accounting ? nullptr : &accounting.error(),
        policies ? nullptr : &policies.error(), faults ? nullptr : &faults.error(),
        tenants ? nullptr : &tenants.error(), grid ? nullptr : &grid.error()}) {
    if (error != nullptr) {
      return *error;
    }
  }
  auto rows = load_speeds(arguments.speeds);
  if (!rows) {
    return rows.error();
  }
  Setup setup{
      .topology = *topology,
      .rows = *std::move(rows),
      .options = SimOptions{.accounting = *accounting,
                            .slot = from_seconds(arguments.slot_seconds),
                            .restart = restart_of(arguments),
                            .firm_quotes = arguments.firm_quotes,
                            .grid = *grid,
                            .share_profiles = arguments.share_profiles,
                            .seed = arguments.seed,
                            .faults = *faults,
                            .tenants = *std::move(tenants),
                            .placer = arguments.placer,
                            .limit_seconds = arguments.limit_seconds},
      .policies = *policies,
      .asked_for_all = std::ranges::find(arguments.policies, kAll) != arguments.policies.end()};
  for (const double noise : arguments.noises) {
    add_once(std::max(noise, faults->noise), setup.noises);
  }
  return setup;
}

Result<std::list<TraceWorkload>> load_all(const SimArguments& arguments, const Setup& setup) {
  std::list<TraceWorkload> traces;
  for (const std::string& trace : arguments.traces) {
    auto loaded =
        load_workload({.trace = trace,
                       .format = arguments.format,
                       .profiles = arguments.profiles,
                       .rows = setup.rows,
                       .seed = arguments.seed,
                       .deadline_draws = arguments.redraw_deadlines ? arguments.seeds : 1},
                      setup.topology);
    if (!loaded) {
      return loaded.error();
    }
    traces.push_back(*std::move(loaded));
  }
  return traces;
}

ReportHeader header_of(const SimArguments& arguments, const std::list<TraceWorkload>& traces) {
  ReportHeader header{.version = RUBATO_VERSION,
                      .cluster = arguments.cluster,
                      .seed = arguments.seed,
                      .overhead = arguments.overhead,
                      .slot_seconds = arguments.slot_seconds,
                      .command = arguments.command};
  for (const TraceWorkload& trace : traces) {
    header.trace += (header.trace.empty() ? "" : ",") + trace.trace;
    for (const std::string& note : trace.notes) {
      header.provenance.push_back(traces.size() > 1 ? trace.trace + ": " + note : note);
    }
  }
  return header;
}

// Exact and noisy runs of a trace stand next to each other.
ComparedRuns run_all(const SimArguments& arguments, const Setup& setup,
                     const std::list<TraceWorkload>& traces) {
  ComparisonRequest request{
      .policies = setup.policies,
      .seeds = arguments.seeds,
      .options = setup.options,
      .keep_history = !arguments.perfetto.empty() ||
                      (!arguments.html.empty() && !setup.is_tournament(arguments)),
      .is_quiet = arguments.json,
      .is_isolated = setup.is_tournament(arguments)};
  for (const TraceWorkload& trace : traces) {
    for (const double noise : setup.noises) {
      request.groups.push_back({.trace = trace.trace,
                                .noise = noise,
                                .workloads = &trace.workloads,
                                .speeds = &trace.speeds});
    }
  }
  return run_comparison(request, setup.topology);
}

TableOptions terminal() {
  TableOptions options{.use_colour = isatty(STDOUT_FILENO) == 1};
  winsize size{};
  if (options.use_colour && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    options.width = size.ws_col;
  }
  return options;
}

void print_head(const SimArguments& arguments, const Setup& setup, const ReportHeader& header) {
  const auto last = arguments.seed + static_cast<std::uint64_t>(arguments.seeds - 1);
  fmt::print("{} on {}, overhead {}, slot {} s, seed {}{}\n", header.trace, header.cluster,
             header.overhead, header.slot_seconds, header.seed,
             arguments.seeds > 1 ? fmt::format(" to {}", last) : "");
  for (std::size_t i = 0; i < std::min(header.provenance.size(), kNotesMax); ++i) {
    fmt::print("  {}\n", header.provenance[i]);
  }
  if (header.provenance.size() > kNotesMax) {
    fmt::print("  and {} more\n", header.provenance.size() - kNotesMax);
  }
  const bool has_no_noise = !setup.options.faults.any() && setup.noises.front() == 0;
  if (arguments.seeds > 1 && has_no_noise && !arguments.redraw_deadlines) {
    fmt::print("  with exact speeds seeds differ in nothing; --redraw-deadlines makes them\n");
  }
}

void print_table(const SimArguments& arguments, const Setup& setup, const ReportHeader& header,
                 const std::vector<RunGroup>& groups) {
  print_head(arguments, setup, header);
  if (arguments.bound) {
    for (const RunGroup& group : groups) {
      fmt::print("  upper bound: {:.4f} of the deadlines can be met even alone on the cluster\n",
                 group.runs.front().summary.deadline_upper_bound);
    }
  }
  fmt::print("\n{}\n", setup.is_tournament(arguments)
                           ? tournament_table(groups, terminal())
                           : table_report(groups.front().runs, terminal()));
}

// A policy that was named must work; among all policies one may find a trace impossible.
int code_of(const Setup& setup, std::span<const RunGroup> groups) {
  const auto has_failed = [](const RunReport& run) { return !run.failure.empty(); };
  for (const RunGroup& group : groups) {
    const bool is_bad = setup.asked_for_all ? std::ranges::all_of(group.runs, has_failed)
                                            : std::ranges::any_of(group.runs, has_failed);
    if (is_bad) {
      const auto first = std::ranges::find_if(group.runs, has_failed);
      return fail_verb("sim", {.code = ErrorCode::BadConfig, .message = first->failure});
    }
  }
  return kExitOk;
}

void add_engine_options(CLI::App& verb, SimArguments& arguments) {
  verb.add_option("--slot", arguments.slot_seconds, "Least seconds between two rounds")
      ->check(CLI::Range(0.001, 1e6));
  verb.add_option("--rounds", arguments.rounds,
                  "grid: only at multiples of the slot (default with --profiles); events: as soon "
                  "as the last one is a slot ago");
  verb.add_option("--restart", arguments.restart_seconds,
                  "Seconds a change of workers costs under physical overhead; else by model, or 30 "
                  "with --profiles")
      ->check(CLI::Range(0.0, 1e6));
  verb.add_option("--firm-quotes", arguments.firm_quotes,
                  "Part of its time by which a promised job may end later than quoted (policies "
                  "that keep quotes); 0: quotes are forecasts")
      ->check(CLI::Range(0.0, 1.0));
  verb.add_flag("--share-profiles", arguments.share_profiles,
                "Jobs of one model learn step times from each other (policies that adapt batches)");
  verb.add_option("--overhead", arguments.overhead, "artifact, physical or none");
  verb.add_option("--objective", arguments.objective,
                  "deadlines, jct, value or fair: picks the policy if none is named");
}

}  // namespace

int run_sim(const SimArguments& arguments) {
  // Before hours of simulation, not after.
  if (const Status can = can_write_html(); !arguments.html.empty() && !can) {
    return fail_verb("sim", can.error());
  }
  const auto setup = set_up(arguments);
  if (!setup) {
    return fail_verb("sim", setup.error());
  }
  auto traces = load_all(arguments, *setup);
  if (!traces) {
    return fail_verb("sim", traces.error());
  }
  const ReportHeader header = header_of(arguments, *traces);
  const ComparedRuns compared = run_all(arguments, *setup, *traces);
  const std::vector<RunGroup>& groups = compared.groups;
  if (arguments.json) {
    fmt::print("{}", json_report(header, groups));
  } else {
    print_table(arguments, *setup, header, groups);
  }
  const Status written = write_pictures(header, groups, setup->topology,
                                        {.html = arguments.html,
                                         .perfetto = arguments.perfetto,
                                         .is_tournament = setup->is_tournament(arguments)});
  return written ? code_of(*setup, groups) : fail_verb("sim", written.error());
}

void add_sim_verb(CLI::App& app, int& code, const std::string& command) {
  CLI::App* verb = app.add_subcommand("sim", "Replay traces under one or more policies");
  const auto arguments = std::make_shared<SimArguments>();
  arguments->command = command;
  verb->add_option("--trace", arguments->traces,
                   "Trace files; over several there are means as well")
      ->required()
      ->delimiter(',');
  verb->add_option("--format", arguments->format, "auto, or one of `rubato trace formats`");
  verb->add_option("--cluster", arguments->cluster, "NODESxGPUS[:TYPE][+...], such as 16x8:A100");
  verb->add_option("--policy", arguments->policies,
                   "Policies, or all: a tournament; see `rubato policy list`")
      ->delimiter('\x1f');
  verb->add_option("--speeds", arguments->speeds, "CSV of measured speeds");
  verb->add_option(
      "--profiles", arguments->profiles,
      "Folder of measured profiles, one subfolder per application: placements[-TYPE].csv, "
      "...");
  add_engine_options(*verb, *arguments);
  verb->add_option("--noise", arguments->noises,
                   "Spread of true speeds around the known ones; several: 0,0.2")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--seed", arguments->seed, "First seed");
  verb->add_option("--seeds", arguments->seeds, "Number of seeds; gives confidence intervals")
      ->check(CLI::Range(1, kSeedsMax));
  verb->add_option("--faults", arguments->faults,
                   "node_mtbf=S,node_repair=S,worker_mtbf=S,straggler_mtbf=S,... in seconds");
  verb->add_option("--limit", arguments->limit_seconds,
                   "Real seconds a run may take; one that takes longer has failed")
      ->check(CLI::Range(0.0, 1e9));
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
