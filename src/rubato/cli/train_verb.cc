#include "rubato/cli/train_verb.h"

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

#include "rubato/cli/exit_code.h"
#include "rubato/cli/job_directory.h"
#include "rubato/cli/scaling_pass.h"
#include "rubato/cli/train_report.h"
#include "rubato/cli/train_script.h"
#include "rubato/cli/verb_failure.h"
#include "rubato/cli/worker_environment.h"
#include "rubato/launch/conductor.h"
#include "rubato/launch/local/local_launcher.h"
#include "rubato/launch/restarted_job.h"
#include "rubato/runtime/scaling_measurement.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

/// What `rubato train` was asked for.
struct TrainFlags {
  int workers = 1;
  TrainScriptTexts script{};
  std::uint64_t seed = 1;
  int parked = 2;
  std::uint32_t snapshot_steps = 0;
  std::string directory{};  // Of logs and snapshots.
  std::vector<std::string> hosts{};
  double patience_seconds = 1.5;
  double start_patience_seconds = 300;
  bool starts_cold = false;
  bool prints_json = false;
  bool shows_all = false;
  bool measures = false;
  bool is_foreign = false;
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

// Turns the loop until the job is over.
void conduct(Conductor& conductor, LocalLauncher& launcher) {
  while (conductor.turn(std::chrono::seconds(1))) {
    print_notes(launcher);
    if (interrupted != 0) {
      conductor.stop("interrupted");
    }
  }
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
             Conductor& conductor) {
  if (const auto size = measurement ? next_size(recent, *measurement) : std::nullopt) {
    conductor.resize(*size);
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

// A program that knows nothing of us.
int train_foreign(const TrainFlags& flags, TrainScript& script, LocalLauncher& launcher) {
  RestartedJob job({.command = flags.command,
                    .environment = worker_environment(),
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
  }
  return report(job.timeline(), flags);
}

ConductorOptions conductor_options(const TrainFlags& flags, const TrainScript& script,
                                   const std::string& directory) {
  return {.command = flags.command,
          .environment = worker_environment(),
          .working_directory = fs::current_path().string(),
          .directory = directory,
          .workers = flags.workers,
          .seed = flags.seed,
          .membership = {.parked_max = flags.parked},
          .patience = whole_micros(flags.patience_seconds * 1e6),
          .start_patience = whole_micros(flags.start_patience_seconds * 1e6),
          .snapshot_steps = flags.snapshot_steps,
          .milestones = script.steps(),
          .hosts = flags.hosts};
}

int train(const TrainFlags& flags) {
  auto script = TrainScript::parse(flags.script, flags.is_foreign ? "second" : "step");
  if (!script) {
    return fail_verb("train", script.error());
  }
  catch_interrupts();
  std::error_code failure;
  const auto directory = JobDirectory::open(flags.directory, fs::temp_directory_path(failure));
  if (!directory) {
    return fail_verb("train", directory.error());
  }
  auto launcher =
      LocalLauncher::open({.log_folder = directory->path(),
                           .echo = flags.shows_all ? EchoChoice::All : EchoChoice::One,
                           .echoed = WorkerId{1},
                           .terminal = flags.prints_json ? STDERR_FILENO : STDOUT_FILENO,
                           .starts_warm = !flags.starts_cold});
  if (!launcher) {
    return fail_verb("train", launcher.error());
  }
  if (flags.is_foreign) {
    return train_foreign(flags, *script, **launcher);
  }
  Conductor* conducted = nullptr;
  std::optional<ScalingMeasurement> measurement = measurement_of(flags);
  auto conductor = Conductor::open(
      conductor_options(flags, *script, directory->path()), **launcher,
      {.on_step = [&](std::uint64_t step) { script->on_step(step, *conducted); },
       .on_profile = [&](const ShapeRecord& recent) { take_in(recent, measurement, *conducted); },
       .on_leader = [&](WorkerId worker) { (*launcher)->echo(worker); }});
  if (!conductor) {
    return fail_verb("train", conductor.error());
  }
  conducted = conductor->get();
  conduct(**conductor, **launcher);
  print_notes(**launcher);
  return report((*conductor)->timeline(), flags);
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
                   "Seconds without a sign of life after which a worker is taken for hung")
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
  verb->add_flag("--measure", flags->measures,
                 "Shrink from --workers to 1 while training, to measure the speed at each count");
  verb->add_flag("--json", flags->prints_json, "Print the timeline as JSON");
  verb->add_option("command", flags->command, "The training program and its arguments, after --")
      ->required();
  verb->callback([flags, &code] { code = train(*flags); });
}

}  // namespace rubato
