#include "rubato/launch/local/local_launcher.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/process/program_path.h"

namespace rubato {
namespace {

constexpr std::size_t kNotesMax = 1000;  // Different ones, for the life of a launcher.

WarmPool::Moment now() { return std::chrono::steady_clock::now(); }

std::string name_of(WorkerId worker) { return fmt::format("worker-{}", worker.value); }

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string absolute(const std::string& path) {
  std::error_code error;
  return (path.empty() ? std::filesystem::current_path(error)
                       : std::filesystem::absolute(path, error))
      .string();
}

}  // namespace

Result<std::unique_ptr<LocalLauncher>> LocalLauncher::open(LocalLaunchOptions options) {
  if (!options.log_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.log_folder, error);
    if (error) {
      return Error{
          .code = ErrorCode::Io,
          .message = fmt::format("cannot make {}: {}", options.log_folder, error.message())};
    }
  }
  auto watch = Watch::open();
  if (!watch) {
    return watch.error();
  }
  auto guard = GroupGuard::start();
  std::optional<GroupGuard> kept;
  if (guard) {
    kept.emplace(std::move(*guard));
  }
  std::unique_ptr<LocalLauncher> launcher(
      new LocalLauncher(std::move(options), std::move(*watch), std::move(kept)));  // NOLINT
  if (!guard) {
    launcher->note(fmt::format("if this program is killed, its workers' helpers may live on: {}",
                               guard.error().message));
  }
  return launcher;
}

LocalLauncher::LocalLauncher(LocalLaunchOptions options, Watch watch,
                             std::optional<GroupGuard> guard)
    : options_(std::move(options)),
      watch_(std::move(watch)),
      guard_(std::move(guard)),
      isolation_(isolation_support()),
      terminal_(options_.terminal),
      pool_({.modules = options_.modules,
             .patience = options_.warm_patience,
             .zygotes_max = options_.warm_max,
             .guard = guard_ ? guard_->descriptor() : -1}) {
  if (options_.error_terminal >= 0 && options_.error_terminal != options_.terminal) {
    error_terminal_.emplace(options_.error_terminal);
  }
}

void LocalLauncher::note(std::string text) {
  if (noted_.size() < kNotesMax && noted_.insert(text).second) {
    notes_.push_back(std::move(text));
  }
}

std::vector<std::string> LocalLauncher::notes() { return std::exchange(notes_, {}); }

void LocalLauncher::echo(WorkerId worker) {
  drain_logs();  // What the one before has said is still shown.
  options_.echoed = worker;
}

LineEchoes LocalLauncher::echoes_of(WorkerId worker) {
  const bool is_shown = options_.echo == EchoChoice::All ||
                        (options_.echo == EchoChoice::One && options_.echoed == worker);
  if (!is_shown) {
    return {};
  }
  return {.output = &terminal_, .errors = error_terminal_ ? &*error_terminal_ : &terminal_};
}

ProcessSpec LocalLauncher::process_spec(const Worker& worker) const {
  return {.argv = worker.start.argv,
          .environment = worker.start.environment,
          .directory = worker.start.directory,
          .output = worker.log.output(),
          .errors = worker.log.errors(),
          .group = options_.group == ProcessGroup::Ours ? ProcessGroup::Own : options_.group,
          .dies_with_parent = !guard_,  // The next best: it does not reach their own processes.
          .limits = options_.limits,
          .nice = options_.nice,
          .session_nice = options_.session_nice,
          .guard = guard_ ? guard_->descriptor() : -1,
          .cgroup = worker.cgroup ? worker.cgroup->procs() : -1};
}

void LocalLauncher::give_cgroup(Worker& worker) {
  if (!options_.cgroup.cpu_weight && !options_.cgroup.memory_bytes) {
    return;
  }
  auto cgroup = WorkerCgroup::create(isolation_, name_of(worker.start.worker), options_.cgroup);
  if (cgroup) {
    worker.cgroup.emplace(std::move(*cgroup));
  } else {
    note(cgroup.error().message);
  }
}

// False if the worker must start cold.
bool LocalLauncher::start_warm(Worker& worker) {
  const WorkerStart& start = worker.start;
  if (!options_.starts_warm || start.argv.empty() || !is_folder(start.directory)) {
    return false;
  }
  const auto program = program_path(start.argv.front(), start.environment, start.directory);
  if (!program) {
    return false;
  }
  auto verdict = warm_start(start.argv, *program, is_native_program(*program), start.environment);
  if (std::holds_alternative<ColdStart>(verdict)) {
    if (const std::string& why = std::get<ColdStart>(verdict).why; !why.empty()) {
      note(fmt::format("workers start cold: {}", why));
    }
    return false;
  }
  auto& warm = std::get<WarmStart>(verdict);
  const auto refused = pool_.start(warm.key,
                                   {.token = start.worker.value,
                                    .process = process_spec(worker),
                                    .script = warm.script,
                                    .cgroup = worker.cgroup ? worker.cgroup->procs_path() : ""},
                                   now(), watch_);
  if (refused) {
    note(fmt::format("workers start cold: {}", *refused));
  }
  return !refused;
}

Status LocalLauncher::start_cold(Worker& worker) {
  auto process = Process::start(process_spec(worker));
  if (!process) {
    return process.error();
  }
  worker.process.emplace(std::move(*process));
  worker.is_warm = false;
  worker.log.close_worker_ends();
  watch_.add(worker.process->descriptor());
  return ok_status();
}

Status LocalLauncher::start(const WorkerStart& start) {
  if (workers_.contains(start.worker)) {
    return bad_input(fmt::format("{} runs already", name_of(start.worker)));
  }
  const bool has_prefix = options_.echo == EchoChoice::All;
  std::function<void(std::string_view)> on_line;
  if (options_.on_line) {
    on_line = [this, worker = start.worker](std::string_view line) {
      options_.on_line(worker, line);
    };
  }
  auto log = RankLog::open(
      {.path = options_.log_folder.empty()
                   ? ""
                   : fmt::format("{}/{}.log", options_.log_folder, name_of(start.worker)),
       .prefix = has_prefix
                     ? fmt::format("[{}] ", start.label.empty() ? std::to_string(start.worker.value)
                                                                : start.label)
                     : "",
       .on_line = std::move(on_line)});
  if (!log) {
    return log.error();
  }
  Worker fresh{.start = start, .log = std::move(*log), .oom_kills_before = machine_oom_kills()};
  fresh.start.directory = absolute(start.directory);
  Worker& worker = workers_.emplace(start.worker, std::move(fresh)).first->second;
  for (const int stream : worker.log.descriptors()) {
    watch_.add(stream);
  }
  give_cgroup(worker);
  worker.is_warm = start_warm(worker);
  if (!worker.is_warm) {
    if (Status status = start_cold(worker); !status) {
      workers_.erase(start.worker);
      return status;
    }
  }
  set_alarm();
  return ok_status();
}

void LocalLauncher::send(Worker& worker, int signal) {
  if (worker.is_warm) {
    pool_.signal(worker.start.worker.value, signal);
  } else if (worker.process) {
    worker.process->signal_group(signal);
  }
}

Status LocalLauncher::signal(WorkerId worker, int signal) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) {
    return Error{.code = ErrorCode::NotFound,
                 .message = fmt::format("{} does not run", name_of(worker))};
  }
  found->second.signals_sent.push_back(signal);
  send(found->second, signal);  // One that is not started yet gets it then.
  return ok_status();
}

std::optional<pid_t> LocalLauncher::pid(WorkerId worker) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) {
    return std::nullopt;
  }
  if (found->second.process) {
    return found->second.process->pid();
  }
  return pool_.pid(worker.value);
}

bool LocalLauncher::is_warm(WorkerId worker) const {
  return pid(worker).has_value() && workers_.at(worker).is_warm;
}

void LocalLauncher::end(WorkerId id, ExitStatus status, std::string lost,
                        std::vector<WorkerEnd>& ends) {
  Worker& worker = workers_.at(id);
  worker.log.finish(echoes_of(id));
  if (!worker.log.problem().empty()) {
    note(worker.log.problem());
  }
  const int oom_kills =
      worker.cgroup ? worker.cgroup->oom_kills() : machine_oom_kills() - worker.oom_kills_before;
  ends.push_back({.worker = id,
                  .cause = exit_cause(status, worker.log.tail(),
                                      {.signals_sent = worker.signals_sent,
                                       .oom_kills = oom_kills,
                                       .lost = std::move(lost)})});
  workers_.erase(id);
}

void LocalLauncher::hear_warm(std::vector<WorkerEnd>& ends) {
  for (const WarmNews& news : pool_.poll(now(), watch_)) {
    const WorkerId id{news.token};
    Worker& worker = workers_.at(id);
    switch (news.word) {
      case WarmWord::Started:
        worker.log.close_worker_ends();
        break;
      case WarmWord::StartCold:
        note(fmt::format("workers start cold: {}", news.why));
        if (Status status = start_cold(worker); !status) {
          end(id, {}, status.error().message, ends);
          continue;
        }
        break;
      case WarmWord::Ended:
        end(id, news.status, "", ends);
        continue;
      case WarmWord::Lost:
        end(id, {}, news.why, ends);
        continue;
    }
    for (const int signal : worker.signals_sent) {
      send(worker, signal);
    }
  }
}

// Lines that wait are tried again once their descriptor is writable.
void LocalLauncher::flush(LineEcho& echo, bool& is_watched) {
  echo.flush();
  if (echo.is_waiting() != is_watched) {
    is_watched = echo.is_waiting();
    if (is_watched) {
      watch_.add_writable(echo.descriptor());
    } else {
      watch_.remove(echo.descriptor());
    }
  }
}

void LocalLauncher::drain_logs() {
  terminal_.flush();
  for (auto& [id, worker] : workers_) {
    worker.log.drain(echoes_of(id));
    if (!worker.log.problem().empty()) {
      note(worker.log.problem());
    }
  }
  flush(terminal_, is_terminal_watched_);
  if (error_terminal_) {
    flush(*error_terminal_, is_error_terminal_watched_);
  }
}

void LocalLauncher::set_alarm() {
  if (const auto alarm = pool_.alarm(now())) {
    watch_.wake_in(*alarm);
  } else {
    watch_.hush();
  }
}

std::vector<WorkerEnd> LocalLauncher::ended() {
  std::vector<WorkerEnd> ends;
  drain_logs();
  hear_warm(ends);
  std::vector<std::pair<WorkerId, ExitStatus>> exits;
  for (auto& [id, worker] : workers_) {
    if (worker.process) {
      if (const auto status = worker.process->poll_exit()) {
        exits.emplace_back(id, *status);
      }
    }
  }
  for (const auto& [id, status] : exits) {
    end(id, status, "", ends);
  }
  set_alarm();
  std::ranges::sort(ends, {}, &WorkerEnd::worker);
  return ends;
}

}  // namespace rubato
