#include "rubato/cli/demo/demo_verb.h"

#include <memory>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/demo/live_demo.h"
#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/process/verb_failure.h"
#include "rubato/cli/simulate/comparison_run.h"
#include "rubato/cli/simulate/report_files.h"
#include "rubato/cli/trace/trace_speeds.h"
#include "rubato/predict/speed_table.h"
#include "rubato/report/html_page.h"
#include "rubato/report/table.h"
#include "rubato/sim/workload.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {
namespace {

constexpr std::string_view kCluster = "8x8";
constexpr std::uint64_t kJobs = 400;
constexpr std::uint64_t kSeed = 7;

// A made-up week on 64 GPUs: busier by day, a fifth of the jobs without a deadline.
Result<std::vector<Job>> demo_jobs(const std::vector<SpeedRow>& rows) {
  auto generator = Generator::make(GeneratorOptions{.jobs = kJobs,
                                                    .seed = kSeed,
                                                    .cluster_gpus = 64,
                                                    .load = 0.7,
                                                    .arrivals = ArrivalKind::Diurnal,
                                                    .best_effort = 0.2,
                                                    .models = model_choices(rows),
                                                    .speed = speed_of(rows)});
  if (!generator) {
    return generator.error();
  }
  std::vector<Job> jobs;
  while (auto job = generator->next()) {
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

int run_simulated_demo(const std::string& html, const std::string& command) {
  if (const Status can = can_write_html(); !html.empty() && !can) {
    return fail_verb("demo", can.error());
  }
  const std::vector<SpeedRow> rows = sample_speeds();
  auto topology = Topology::parse(kCluster);
  auto jobs = demo_jobs(rows);
  if (!jobs) {
    return fail_verb("demo", jobs.error());
  }
  SpeedBook speeds(rows, *topology);
  Workload workload = prepare(*std::move(jobs), speeds);
  const std::vector<std::vector<Job>> workloads = {std::move(workload.jobs)};
  const ComparedRuns compared = run_comparison(
      ComparisonRequest{
          .groups = {{.workloads = &workloads, .speeds = &speeds}},
          .policies = {"elasticflow", "edf-ac", "edf", "srtf", "tiresias", "backfill", "fifo"},
          .options = SimOptions{.seed = kSeed},
          .keep_history = true},
      *topology);
  const std::vector<RunReport>& reports = compared.groups.front().runs;
  for (const RunReport& report : reports) {
    if (!report.failure.empty()) {
      return fail_verb("demo", {.code = ErrorCode::BadConfig, .message = report.failure});
    }
  }
  fmt::print(
      "{} jobs of a made-up week on {} GPUs, seed {}: the same jobs, the same engine, "
      "seven schedulers.\n\n{}\n",
      kJobs, topology->gpus(), kSeed,
      table_report(reports, {.use_colour = isatty(STDOUT_FILENO) == 1}));
  const ReportHeader header{.version = RUBATO_VERSION,
                            .trace = "built-in demo",
                            .cluster = std::string(kCluster),
                            .seed = kSeed,
                            .overhead = "physical",
                            .slot_seconds = 60,
                            .command = command,
                            .provenance = std::move(workload.notes)};
  const Status written = write_pictures(header, compared.groups, *topology, {.html = html});
  if (!written) {
    return fail_verb("demo", written.error());
  }
  if (!html.empty()) {
    fmt::print("Pictures of all this: {}\n", html);
  }
  return kExitOk;
}

}  // namespace

void add_demo_verb(CLI::App& app, int& code, const std::string& command) {
  CLI::App* verb = app.add_subcommand(
      "demo", "Train six real jobs on this machine, some under a promise, and lose a worker");
  const auto html = std::make_shared<std::string>();
  const auto live = std::make_shared<LiveDemoOptions>();
  const auto is_simulated = std::make_shared<bool>(false);
  CLI::Option* sim = verb->add_flag("--sim", *is_simulated,
                                    "Compare schedulers in virtual time instead; trains nothing");
  verb->add_option("--html", *html, "With --sim: write the HTML report there")->needs(sim);
  verb->add_option("--examples", live->examples, "Folder of the training programs")->excludes(sim);
  verb->add_option("--slots", live->slots, "Workers at a time")
      ->check(CLI::Range(2, 64))
      ->excludes(sim);
  verb->add_option("--began", live->began,
                   "Seconds since 1970: the first training step says how long after that it is")
      ->excludes(sim);
  verb->callback([html, live, is_simulated, command, &code] {
    code = *is_simulated ? run_simulated_demo(*html, command) : run_live_demo(*live);
  });
}

}  // namespace rubato
