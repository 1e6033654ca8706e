#include "rubato/cli/platform/conduct_verb.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/process/exit_code.h"
#include "rubato/job/conduct_files.h"
#include "rubato/job/conducting.h"
#include "rubato/job/emulated_crew.h"
#include "rubato/job/emulated_training.h"
#include "rubato/launch/local/local_launcher.h"
#include "rubato/wire/log_line.h"

namespace rubato {
namespace {

using launch::metrics::JobMetrics;
using launch::metrics::JobMetricsOptions;

/// What `rubato conduct` was asked for.
struct ConductFlags {
  std::string directory{};
  int lock = -1;
};

volatile std::sig_atomic_t conduct_ends = 0;

// We belong to nobody: neither a terminal nor an agent takes us along when it goes.
void stand_alone() {
  ::setsid();
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { conduct_ends = 1; });
  std::signal(SIGINT, [](int) { conduct_ends = 1; });
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

// Every worker costs us a handful of descriptors; workers keep the limit that we were given.
ResourceLimit raise_descriptor_limit() {
  rlimit given{};
  ::getrlimit(RLIMIT_NOFILE, &given);
  const rlimit raised{.rlim_cur = given.rlim_max, .rlim_max = given.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return {.resource = RLIMIT_NOFILE, .soft = given.rlim_cur, .hard = given.rlim_max};
}

int conduct_failure(const Error& error) {
  log_line(stderr, "rubato conduct: {}", error.message);
  return exit_code(error.code);
}

// The lock that the agent has handed us, or one of our own. No worker must hold it after us.
std::optional<Descriptor> own_lock(const ConductFlags& flags, const ConductFiles& files) {
  if (flags.lock < 0) {
    return files.try_lock();
  }
  return ::fcntl(flags.lock, F_SETFD, FD_CLOEXEC) == 0 ? std::optional(Descriptor(flags.lock))
                                                       : std::nullopt;
}

Result<std::unique_ptr<ConductedJob>> begin_job(const wire::ConductOrder& order,
                                                const ConductScene& scene) {
  const wire::JobSpec& spec = order.run().spec();
  if (spec.kind() != "emulated" && spec.command().empty()) {
    return bad_input("the job has no command");
  }
  if (spec.kind() == "restart") {
    return conduct_restarted(order, scene);
  }
  if (spec.kind().empty() || spec.kind() == "elastic" || spec.kind() == "emulated") {
    return conduct_elastic(order, scene);
  }
  return bad_input(
      fmt::format("'{}' is no kind of job: elastic, restart or emulated is", spec.kind()));
}

// A full disk is no fault of the job: it is to be tried again.
wire::JobEnded never_begun(const wire::ConductOrder& order, const ConductFiles& files,
                           const Error& error) {
  wire::JobEnded ended;
  ended.set_job(order.run().job());
  ended.set_order(order.run().order());
  ended.set_outcome(files.is_disk_full() ? "requeue" : "failed");
  ended.set_exit_code(exit_code(error.code));
  ended.set_cause("user_error");
  ended.set_detail(error.message);
  return ended;
}

// The job was taken back before we came to begin it.
wire::JobEnded suspended_at_once(const wire::ConductOrder& order, const ConductFiles& files) {
  wire::JobEnded ended;
  ended.set_job(order.run().job());
  ended.set_order(order.run().order());
  ended.set_outcome("suspended");
  ended.set_cause("suspended");
  ended.set_done(static_cast<double>(files.newest_snapshot_step()));
  return ended;
}

JobMetricsOptions metrics_options(const wire::ConductOrder& order, const ConductFiles& files) {
  return {
      .path = files.metrics(), .order = order.run().order(), .until = order.run().spec().until()};
}

/// What starts the workers, and what it has to say.
struct WorkerStarter {
  std::unique_ptr<JobMetrics> metrics{};  // The launcher feeds them lines until it is gone.
  std::unique_ptr<Launcher> launcher{};
  LocalLauncher* local = nullptr;  // The same, if workers are processes.
  EmulatedCrew* crew = nullptr;    // The same, if they are threads.

  [[nodiscard]] std::vector<std::string> notes() const {
    return local == nullptr ? std::vector<std::string>{} : local->notes();
  }
};

// Runs the job; how it ended.
wire::JobEnded run_job(const wire::ConductOrder& order, const ConductFiles& files,
                       ConductLine& line, const WorkerStarter& starter) {
  if (order.run().slots_size() == 0) {
    return suspended_at_once(order, files);
  }
  auto job = begin_job(order, {.files = files,
                               .launcher = *starter.launcher,
                               .crew = starter.crew,
                               .metrics = starter.metrics.get()});
  if (!job) {
    return never_begun(order, files, job.error());
  }
  Conducting conducting(order, std::move(*job), line, *starter.metrics);
  bool goes_on = true;
  while (goes_on) {
    goes_on = conducting.turn();
    for (const std::string& note : starter.notes()) {
      log_line(stdout, "{}", note);
    }
    if (conduct_ends != 0) {
      conducting.suspend("this machine ends its work");
    }
  }
  return conducting.ended();
}

Result<WorkerStarter> start_processes(const wire::ConductOrder& order, const ConductFiles& files,
                                      int log) {
  auto metrics = std::make_unique<JobMetrics>(metrics_options(order, files));
  auto launcher = LocalLauncher::open(
      {.log_folder = files.logs(),
       .echo = log >= 0 ? EchoChoice::All : EchoChoice::None,
       .terminal = log,
       .starts_warm = true,
       .limits = {raise_descriptor_limit()},
       .on_line = [raw = metrics.get()](WorkerId worker, std::string_view line) {
         raw->read_line(worker.value, line);
       }});
  if (!launcher) {
    return launcher.error();
  }
  LocalLauncher* const local = launcher->get();
  return WorkerStarter{
      .metrics = std::move(metrics), .launcher = std::move(*launcher), .local = local};
}

// On pretended nodes there may be a hundred of them: threads do.
Result<WorkerStarter> start_threads(const wire::ConductOrder& order, const ConductFiles& files,
                                    int log) {
  const wire::JobSpec& spec = order.run().spec();
  EmulatedCrewOptions options{.steps = static_cast<std::uint64_t>(spec.steps()),
                              .began = decided_at(order)};
  for (const wire::SpeedPoint& point : spec.speeds()) {
    options.speeds[point.workers()] = point.steps_per_second();
  }
  const auto pause = emulated_pause({spec.environment().begin(), spec.environment().end()});
  if (!pause) {
    return pause.error();
  }
  options.pause = *pause;
  raise_descriptor_limit();
  dprintf(log, "%s; its workers are threads\n", kEmulatedNotice);
  auto crew = EmulatedCrew::open(std::move(options));
  if (!crew) {
    return crew.error();
  }
  EmulatedCrew* const threads = crew->get();
  return WorkerStarter{.metrics = std::make_unique<JobMetrics>(metrics_options(order, files)),
                       .launcher = std::move(*crew),
                       .crew = threads};
}

// Waits while the disk is full: of an end that is not told nobody would know, and all that was done
// since the last snapshot would be done again.
Status keep_end(const ConductFiles& files, const wire::JobEnded& ended) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  Status written = files.write_ended(ended);
  while (!written && conduct_ends == 0 && files.is_disk_full()) {
    std::this_thread::sleep_for(kPause);
    written = files.write_ended(ended);
  }
  return written;
}

int conduct_job(const ConductFlags& flags) {
  const ConductFiles files(std::filesystem::absolute(flags.directory).string());
  const auto order = files.read_order();
  if (!order) {
    return conduct_failure(order.error());
  }
  stand_alone();
  const auto lock = own_lock(flags, files);
  if (!lock) {
    return conduct_failure(bad_input(fmt::format("{} is being conducted", files.directory())));
  }
  if (Status prepared = files.prepare(); !prepared) {
    return conduct_failure(prepared.error());
  }
  files.clear_ended();
  auto line = ConductLine::open(files.socket());
  if (!line) {
    [[maybe_unused]] const Status written =
        files.write_ended(never_begun(*order, files, line.error()));
    return conduct_failure(line.error());
  }
  const Descriptor log(
      ::open(files.merged_log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const bool in_threads = order->emulated() && order->run().spec().kind() == "emulated";
  const auto starter = in_threads ? start_threads(*order, files, log.get())
                                  : start_processes(*order, files, log.get());
  if (!starter && !in_threads) {
    return conduct_failure(starter.error());  // This machine's fault: the job may be tried again.
  }
  wire::FromAgent message;
  *message.mutable_ended() = starter ? run_job(*order, files, *line, *starter)
                                     : never_begun(*order, files, starter.error());
  const wire::JobEnded& ended = message.ended();
  log_line(stdout, "{} after {} steps: {}", ended.outcome(), ended.done(), ended.detail());
  if (Status written = keep_end(files, ended); !written) {
    return conduct_failure(written.error());
  }
  line->say(message);
  return kExitOk;
}

}  // namespace

void add_conduct_verb(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand("conduct", "Run one job for an agent")->group("");
  const auto flags = std::make_shared<ConductFlags>();
  verb->add_option("directory", flags->directory, "Of the job")->required();
  verb->add_option("--lock", flags->lock, "Descriptor of the job's lock, held already");
  verb->callback([flags, &code] { code = conduct_job(*flags); });
}

}  // namespace rubato
