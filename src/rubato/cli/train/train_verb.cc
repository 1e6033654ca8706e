#include "rubato/cli/train/train_verb.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/process/verb_failure.h"
#include "rubato/cli/train/train_report.h"
#include "rubato/cli/train/train_script.h"
#include "rubato/job/job_directory.h"
#include "rubato/job/scaling_pass.h"
#include "rubato/job/worker_environment.h"
#include "rubato/launch/conductor.h"
#include "rubato/launch/local/local_launcher.h"
#include "rubato/launch/metrics/job_metrics.h"
#include "rubato/launch/restarted_job.h"
#include "rubato/launch/script/python_command.h"
#include "rubato/launch/script/script_run.h"
#include "rubato/runtime/adapt/scaling_measurement.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;
using launch::metrics::JobMetrics;

/// What `rubato train` was asked for.
struct TrainFlags {
  int workers = 1;
  TrainScriptTexts script{};
  std::uint64_t seed = 1;
  int parked = 2;
  std::uint32_t snapshot_steps = 0;
  std::string directory{};  // Of logs and snapshots.
  std::vector<std::string> hosts{};
  std::optional<double> patience_seconds{};  // Not said: as the way it is run sees fit.
  double start_patience_seconds = 300;
  bool starts_cold = false;
  bool prints_json = false;
  bool shows_all = false;
  bool measures = false;
  bool is_foreign = false;
  bool runs_everywhere = false;  // Every worker runs the program.
  std::uint64_t steps = 0;       // The script is expected to take; 0: not said.
  std::string until{};           // The rule that ends the job early.
  std::vector<std::string> command{};
};

void print_notes(LocalLauncher& launcher) {
  for (const std::string& note : launcher.notes()) {
    fmt::print(stderr, "rubato: {}\n", note);
  }
}

volatile std::sig_atomic_t interrupted = 0;

// From now on an interrupt ends the job in good order.
void catch_interrupts() {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
}

// Why the job should end now; nothing if it need not.
std::optional<std::string> early_end(JobMetrics& metrics, const TrainFlags& flags) {
  if (const std::string warning = metrics.take_warning(); !warning.empty()) {
    fmt::print(stderr, "rubato: {}\n", warning);
  }
  return metrics.take_end(static_cast<double>(flags.steps));
}

// Turns the loop until the job is over.
void conduct(TrainingRun& run, LocalLauncher& launcher, JobMetrics& metrics,
             const TrainFlags& flags) {
  while (run.turn(std::chrono::seconds(1))) {
    print_notes(launcher);
    if (interrupted != 0) {
      run.stop("interrupted");
    }
    metrics.set_step(static_cast<std::int64_t>(run.step()));
    metrics.save();
    if (const auto reason = early_end(metrics, flags)) {
      run.end_early(*reason);
    }
  }
  metrics.save();
}

// The measurement that was asked for, if any.
std::optional<ScalingMeasurement> measurement_of(const TrainFlags& flags) {
  if (!flags.measures) {
    return std::nullopt;
  }
  return ScalingMeasurement({.workers = shrinking_counts(flags.workers, flags.workers)});
}

// Shrinks the job when a point of the measurement has been seen long enough.
void take_in(const ShapeRecord& recent, std::optional<ScalingMeasurement>& measurement,
             TrainingRun& run) {
  if (const auto size = measurement ? next_size(recent, *measurement) : std::nullopt) {
    run.resize(*size);
  }
}

int report(const JobTimeline& timeline, const TrainFlags& flags) {
  if (flags.prints_json) {
    fmt::print("{}", timeline_json(timeline));
  } else {
    fmt::print("\n{}", timeline_table(timeline));
  }
  if (!timeline.reason.empty()) {
    fmt::print(stderr, "rubato train: {}\n", timeline.reason);
  }
  return timeline.exit_code;
}

Status check_until(const std::string& text) {
  const auto rule = launch::metrics::parse_until(text);
  if (text.empty() || rule) {
    return ok_status();
  }
  const std::string meant = launch::metrics::nearest_until(text);
  return bad_input(fmt::format("--until: {}{}", rule.error().message,
                               meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
}

// What the script sees; where its state is kept if that is to stay.
Environment script_environment(const TrainFlags& flags, const std::string& directory) {
  Environment environment = with_python_hook(worker_environment());
  if (!flags.directory.empty()) {
    environment["RUBATO_JOB_DIRECTORY"] = fs::absolute(directory).string();
  }
  return environment;
}

// A program that knows nothing of us.
int train_foreign(const TrainFlags& flags, TrainScript& script, LocalLauncher& launcher,
                  JobMetrics& metrics) {
  RestartedJob job({.command = flags.command,
                    .environment = with_python_hook(worker_environment()),
                    .working_directory = fs::current_path().string(),
                    .workers = flags.workers},
                   launcher);
  catch_interrupts();
  while (job.turn(std::chrono::milliseconds(200))) {
    print_notes(launcher);
    script.on_second(static_cast<std::uint64_t>(to_seconds(job.elapsed())), job);
    if (interrupted != 0) {
      job.stop("interrupted");
    }
    if (const auto reason = early_end(metrics, flags)) {
      job.end(JobOutcome::Finished, *reason);
    }
  }
  metrics.save();
  return report(job.timeline(), flags);
}

// With a worker that shows no heartbeat.
Duration patience_of(const TrainFlags& flags, Duration otherwise) {
  return flags.patience_seconds ? whole_micros(*flags.patience_seconds * 1e6) : otherwise;
}

ConductorOptions conductor_options(const TrainFlags& flags, const TrainScript& script,
                                   const std::string& directory) {
  return {.command = flags.command,
          .environment = with_python_hook(worker_environment()),
          .working_directory = fs::current_path().string(),
          .directory = directory,
          .workers = flags.workers,
          .seed = flags.seed,
          .membership = {.parked_max = flags.parked},
          .patience = patience_of(flags, ConductorOptions{}.patience),
          .start_patience = whole_micros(flags.start_patience_seconds * 1e6),
          .snapshot_steps = flags.snapshot_steps,
          .milestones = script.steps(),
          .hosts = flags.hosts};
}

launch::script::ScriptRunOptions script_options(const TrainFlags& flags, const TrainScript& script,
                                                const std::string& directory) {
  return {.command = flags.command,
          .environment = script_environment(flags, directory),
          .working_directory = fs::current_path().string(),
          .directory = directory,
          .workers = flags.workers,
          .seed = flags.seed,
          .steps_declared = flags.steps,
          .until = flags.until,
          .snapshot_steps = flags.snapshot_steps,
          .milestones = script.steps(),
          .patience = patience_of(flags, launch::script::ScriptRunOptions{}.patience),
          .start_patience = whole_micros(flags.start_patience_seconds * 1e6)};
}

// A Python script that does not use our trainer runs once; everything else runs in every worker.
Result<std::unique_ptr<TrainingRun>> open_run(const TrainFlags& flags, const TrainScript& script,
                                              const std::string& directory, LocalLauncher& launcher,
                                              TrainingRunEvents events) {
  const bool is_script = !flags.runs_everywhere && flags.hosts.empty() &&
                         launch::script::runs_as_script(flags.command, fs::current_path().string(),
                                                        worker_environment());
  if (is_script) {
    auto run = launch::script::ScriptRun::open(script_options(flags, script, directory), launcher,
                                               std::move(events));
    return run ? Result<std::unique_ptr<TrainingRun>>(std::move(*run)) : run.error();
  }
  auto run =
      Conductor::open(conductor_options(flags, script, directory), launcher, std::move(events));
  return run ? Result<std::unique_ptr<TrainingRun>>(std::move(*run)) : run.error();
}

int train(const TrainFlags& flags) {
  auto script = TrainScript::parse(flags.script, flags.is_foreign ? "second" : "step");
  if (!script) {
    return fail_verb("train", script.error());
  }
  if (const Status rule = check_until(flags.until); !rule) {
    return fail_verb("train", rule.error());
  }
  catch_interrupts();
  std::error_code failure;
  const auto directory = JobDirectory::open(flags.directory, fs::temp_directory_path(failure));
  if (!directory) {
    return fail_verb("train", directory.error());
  }
  JobMetrics metrics({.path = directory->path() + "/metrics", .until = flags.until});
  auto launcher =
      LocalLauncher::open({.log_folder = directory->path(),
                           .echo = flags.shows_all ? EchoChoice::All : EchoChoice::One,
                           .echoed = WorkerId{1},
                           .terminal = flags.prints_json ? STDERR_FILENO : STDOUT_FILENO,
                           .error_terminal = STDERR_FILENO,
                           .starts_warm = !flags.starts_cold,
                           .on_line = [&](WorkerId worker, std::string_view line) {
                             metrics.read_line(worker.value, line);
                           }});
  if (!launcher) {
    return fail_verb("train", launcher.error());
  }
  if (flags.is_foreign) {
    return train_foreign(flags, *script, **launcher, metrics);
  }
  TrainingRun* driven = nullptr;
  std::optional<ScalingMeasurement> measurement = measurement_of(flags);
  auto run = open_run(
      flags, *script, directory->path(), **launcher,
      {.on_step = [&](std::uint64_t step) { script->on_step(step, *driven); },
       .on_profile = [&](const ShapeRecord& recent) { take_in(recent, measurement, *driven); },
       .on_leader = [&](WorkerId worker) { (*launcher)->echo(worker); },
       .on_metrics =
           [&](std::span<const MetricValue> values) {
             for (const MetricValue& each : values) {
               metrics.log(each.name, each.value, static_cast<std::int64_t>(each.step));
             }
           }});
  if (!run) {
    return fail_verb("train", run.error());
  }
  driven = run->get();
  conduct(**run, **launcher, metrics, flags);
  print_notes(**launcher);
  return report((*run)->timeline(), flags);
}

}  // namespace

void add_train_verb(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand(
      "train", "Train elastically on this machine: rubato train --workers 2 -- python3 train.py");
  const auto flags = std::make_shared<TrainFlags>();
  verb->add_option("--workers", flags->workers, "Workers to begin with")
      ->check(CLI::Range(1, kScriptWorkersMax));
  verb->add_option("--resize", flags->script.resize, "Such as \"at step 100: 4; at step 200: 2\"");
  verb->add_option("--kill", flags->script.kill,
                   "Kill workers by rank: \"worker 1 at step 150; worker 0 at step 180\"");
  verb->add_option("--stop", flags->script.stop, "Freeze workers (SIGSTOP), written as for --kill");
  verb->add_option("--seed", flags->seed, "Of the order of samples and all else that is drawn");
  verb->add_option("--parked", flags->parked, "Workers kept warm after a shrink")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--snapshot-steps", flags->snapshot_steps, "Steps between snapshots; 0: none");
  verb->add_option("--directory", flags->directory,
                   "Of logs and snapshots; a job with snapshots there resumes from the newest");
  verb->add_option("--hosts", flags->hosts,
                   "Names of hosts to pretend that workers sit on in turn, to try what is between")
      ->delimiter(',');
  verb->add_option("--patience", flags->patience_seconds,
                   "Seconds without a sign of life after which a worker is taken for hung; 1.5, or "
                   "5 for the process of a script, whose loss costs more")
      ->check(CLI::PositiveNumber);
  verb->add_option("--start-patience", flags->start_patience_seconds,
                   "Seconds from a worker's start to its first word, while it loads; then it is "
                   "taken for frozen")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--cold", flags->starts_cold, "Start every worker from nothing");
  verb->add_flag("--all-output", flags->shows_all,
                 "Show what all workers print, not only the one with rank 0");
  verb->add_flag(
      "--torchrun", flags->is_foreign,
      "For programs that use torch.distributed themselves: torchrun's environment, and a "
      "restart of all workers for each --resize \"at second 20: 4\"");
  verb->add_flag("--every-worker", flags->runs_everywhere,
                 "Run the program in every worker, as for rubato.Trainer: for scripts whose main "
                 "file does not show that they use it");
  verb->add_option("--steps", flags->steps,
                   "Steps that the script is expected to take; it is told if they differ");
  verb->add_option(
      "--until", flags->until,
      "End early, as finished, once a metric that is logged or printed is good enough: "
      "\"accuracy >= 0.9\", \"val_loss < 0.2 for 3\"");
  verb->add_flag("--measure", flags->measures,
                 "Shrink from --workers to 1 while training, to measure the speed at each count");
  verb->add_flag("--json", flags->prints_json, "Print the timeline as JSON");
  verb->add_option("command", flags->command, "The training program and its arguments, after --")
      ->required();
  verb->callback([flags, &code] { code = train(*flags); });
}

}  // namespace rubato
