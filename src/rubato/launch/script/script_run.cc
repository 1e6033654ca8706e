#include "rubato/launch/script/script_run.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/random.h"
#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/script/python_command.h"
#include "rubato/wire/log_line.h"

namespace rubato::launch::script {

using wire::script::ToScript;

ScriptRun::ScriptRun(ScriptRunOptions options, Launcher& launcher, TrainingRunEvents events,
                     UnixListener listener)
    : options_(std::move(options)),
      launcher_(launcher),
      events_(std::move(events)),
      listener_(std::move(listener)),
      token_(Random(options_.seed).fork(static_cast<std::uint64_t>(::getpid())).next()),
      began_(Clock::now()),
      last_turn_(began_),
      order_{.workers = options_.workers, .given = began_, .cause = "start"} {
  timeline_.seed = options_.seed;
}

Result<std::unique_ptr<ScriptRun>> ScriptRun::open(ScriptRunOptions options, Launcher& launcher,
                                                   TrainingRunEvents events) {
  auto listener = UnixListener::open(options.directory + "/conductor");
  if (!listener) {
    return listener.error();
  }
  std::unique_ptr<ScriptRun> run(new ScriptRun(std::move(options), launcher,
                                               std::move(events),  // NOLINT: private constructor
                                               std::move(*listener)));
  if (run->options_.snapshot_steps > 0 || run->options_.keeps_snapshots) {
    const auto warnings = run->snapshots_.use_directory(run->options_.directory + "/snapshots");
    if (!warnings) {
      return warnings.error();
    }
    for (const std::string& warning : *warnings) {
      log_line(stderr, "rubato: {}", warning);
    }
  }
  if (const auto command = python_command(run->options_.command); command && command->is_isolated) {
    // Nobody will ever say hello, and that is no sign of anything.
    run->options_.start_patience = std::chrono::hours(24 * 365);
    run->say("isolated",
             "with -E, -I or -S the interpreter loads nothing of Rubato: the script runs as it is, "
             "on one worker");
  }
  run->known_step_ = run->snapshots_.newest().value_or(ResumePoint{}).step;
  run->highest_step_ = run->known_step_;
  run->start("start", false);
  return run;
}

Duration ScriptRun::now() const {
  return std::chrono::duration_cast<Duration>(Clock::now() - began_);
}

// Starts a process for the script, which resumes from the newest snapshot if there is one.
void ScriptRun::start(const std::string& cause, bool is_forced) {
  const WorkerId worker = roster_.next_name();
  leader_.emplace(Leader{.worker = worker, .heard = Clock::now()});
  note_roster(roster_.set_leader(worker), cause);
  leader_->record = timeline_.workers.size() - 1;
  add_generation(cause, is_forced, is_forced ? Clock::now() : order_.given);
  GenerationRecord& record = timeline_.generations.back();
  record.step = snapshots_.newest().value_or(ResumePoint{}).step;
  record.lost_steps = known_step_ > record.step ? known_step_ - record.step : 0;
  if (record.lost_steps > 0 && record.step == 0) {
    say("started-again",
        fmt::format("the script starts again from its beginning: there is no snapshot of the {} "
                    "steps that it had taken",
                    record.lost_steps));
  }
  known_step_ = record.step;
  order_.step = record.step;
  Environment environment = options_.environment;
  environment["RUBATO_SCRIPT"] = "1";
  environment["RUBATO_CONDUCTOR"] = listener_.path();
  environment["RUBATO_WORKER"] = std::to_string(worker.value);
  environment["RUBATO_TOKEN"] = std::to_string(token_);
  if (events_.on_start) {
    environment = overridden(std::move(environment), events_.on_start(worker));
  }
  if (events_.on_leader) {
    events_.on_leader(worker);
  }
  const Status started = launcher_.start({.worker = worker,
                                          .argv = options_.command,
                                          .environment = std::move(environment),
                                          .directory = options_.working_directory});
  if (!started) {
    leader_.reset();
    fail(JobOutcome::Failed, kJobExitBadInput, started.error().message);
  }
}

void ScriptRun::send(const ToScript& message, const std::vector<int>& lent) {
  if (leader_ && leader_->channel) {
    // A leader that is gone is told of by the launcher.
    [[maybe_unused]] const Status sent = leader_->channel->send(message.SerializeAsString(), lent);
  }
}

bool ScriptRun::turn(Duration wait, std::span<const int> also) {
  std::vector<pollfd> ready{{.fd = listener_.descriptor(), .events = POLLIN, .revents = 0},
                            {.fd = launcher_.descriptor(), .events = POLLIN, .revents = 0}};
  for (const int descriptor : also) {
    ready.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  }
  for (const UnixChannel& stranger : pending_connections_) {
    ready.push_back({.fd = stranger.descriptor(), .events = POLLIN, .revents = 0});
  }
  if (leader_ && leader_->channel) {
    ready.push_back({.fd = leader_->channel->descriptor(), .events = POLLIN, .revents = 0});
  }
  if (leader_ && leader_->process.is_open()) {
    ready.push_back({.fd = leader_->process.get(), .events = POLLIN, .revents = 0});
  }
  // Shorter than what would look as if it was we who slept; see find_silent.
  const Duration longest = std::min({wait, options_.heartbeat, options_.patience / 4});
  ::poll(ready.data(), ready.size(),
         static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(longest).count()));
  hear();
  look_after_process();
  take_connections();
  accept_hellos();
  for (const WorkerEnd& end : launcher_.ended()) {
    on_ended(end);
  }
  for (const FreedSnapshot& freed : snapshots_.take_freed()) {
    if (leader_ && leader_->connection == freed.worker.value) {
      ToScript message;
      message.mutable_snapshot_free()->set_slot(freed.slot);
      send(message);
    }
  }
  for (const std::string& problem : snapshots_.take_problems()) {
    log_line(stderr, "rubato: {}", problem);
  }
  find_silent();
  finish_resting();
  timeline_.total = now();
  return !(is_winding_down_ && !leader_);
}

void ScriptRun::resize(int workers, std::set<WorkerId> leaving) {
  if (is_winding_down_) {
    return;
  }
  order_ = {.number = order_.number + 1,
            .workers = workers,
            .given = Clock::now(),
            .cause = fmt::format("resize to {}", workers),
            .step = known_step_};
  rest_ = Rest::None;
  if (!leader_) {
    start(order_.cause, false);
    return;
  }
  ToScript message;
  message.mutable_set_workers()->set_workers(static_cast<std::uint32_t>(workers));
  message.mutable_set_workers()->set_order(order_.number);
  send(message);
  if (leaving.contains(leader_->worker)) {
    thaw();
    rest(Rest::Moving, "moved to another device");
    return;
  }
  ToScript resume;
  resume.mutable_resume();
  send(resume);
  thaw();
}

void ScriptRun::suspend(const std::string& reason) { rest(Rest::Suspending, reason); }

void ScriptRun::park() { rest(Rest::Parking, "parked"); }

void ScriptRun::rest(Rest rest, const std::string& reason) {
  if (is_winding_down_) {
    return;
  }
  rest_ = rest;
  rest_reason_ = reason;
  rest_by_ = Clock::now() + options_.suspend_patience;
  tell_rest();
}

void ScriptRun::tell_rest() {
  if (rest_ != Rest::None) {
    ToScript message;
    message.mutable_suspend();
    send(message);
  }
}

// What was committed lies in a snapshot once the script has stopped: its words come in order.
void ScriptRun::finish_resting() {
  if (rest_ == Rest::None || is_winding_down_ || is_parked()) {
    return;
  }
  const bool has_stopped = !leader_ || leader_->is_suspended || !leader_->has_spoken;
  if (!has_stopped && Clock::now() <= rest_by_) {
    return;
  }
  if (rest_ == Rest::Parking) {
    freeze();
    return;
  }
  if (rest_ == Rest::Suspending) {
    timeline_.outcome = JobOutcome::Suspended;
    timeline_.reason = rest_reason_;
    is_winding_down_ = true;
    known_step_ = snapshots_.newest().value_or(ResumePoint{}).step;
    snapshots_.flush();
  }
  if (leader_ && leader_->is_suspended && !leader_->is_frozen) {
    end_leader(rest_reason_);
  } else if (leader_ && !leader_->told_to_exit) {
    leader_->verdict = rest_reason_;
    leader_->told_to_exit = Clock::now();
    [[maybe_unused]] const Status killed = launcher_.signal(leader_->worker, SIGKILL);
  }
}

// Also a script that has not said a word yet: it goes on to load where it was stopped.
void ScriptRun::freeze() {
  leader_->is_suspended = true;
  leader_->is_frozen = true;
  [[maybe_unused]] const Status stopped = launcher_.signal(leader_->worker, SIGSTOP);
}

void ScriptRun::thaw() {
  leader_->heard = Clock::now();
  leader_->is_suspended = false;
  if (std::exchange(leader_->is_frozen, false)) {
    [[maybe_unused]] const Status continued = launcher_.signal(leader_->worker, SIGCONT);
  }
}

// A script that waits leaves by itself.
void ScriptRun::end_leader(const std::string& reason) {
  if (!leader_->told_to_exit) {
    leader_->told_to_exit = Clock::now();
    ToScript message;
    message.mutable_exit()->set_reason(reason);
    send(message);
  }
}

void ScriptRun::end_early(const std::string& reason) {
  if (!is_winding_down_ && early_reason_.empty()) {
    early_reason_ = reason;
    tell_early_end();
  }
}

// The word that the script knows: rubato/split/metrics/until.py.
void ScriptRun::tell_early_end() {
  if (!early_reason_.empty()) {
    ToScript message;
    message.mutable_exit()->set_reason("until");
    send(message);
  }
}

void ScriptRun::snapshot_now() {
  if (rest_ != Rest::None) {
    return;  // It writes one before it stops.
  }
  ToScript message;
  message.mutable_snapshot_now();
  send(message);
}

std::optional<WorkerId> ScriptRun::worker_at(int rank) const {
  const auto members = roster_.members();
  const auto index = static_cast<std::size_t>(rank);
  return leader_ && rank >= 0 && index < members.size() ? std::optional(members[index])
                                                        : std::nullopt;
}

Status ScriptRun::signal(WorkerId worker, int signal) {
  if (roster_.signal(worker, signal)) {
    return ok_status();
  }
  if (leader_ && leader_->worker == worker) {
    if (leader_->process.is_open() && signal_pidfd(leader_->process.get(), signal)) {
      return ok_status();
    }
    return launcher_.signal(worker, signal);
  }
  return Error{.code = ErrorCode::NotFound,
               .message = fmt::format("worker {} does not run", worker.value)};
}

void ScriptRun::stop(const std::string& reason) {
  fail(JobOutcome::Failed, kJobExitFailed, reason);
}

void ScriptRun::fail(JobOutcome outcome, int exit_code, std::string reason) {
  if (is_winding_down_) {
    return;
  }
  timeline_.outcome = outcome;
  timeline_.exit_code = exit_code;
  timeline_.reason = std::move(reason);
  is_winding_down_ = true;
  if (leader_) {
    [[maybe_unused]] const Status killed = launcher_.signal(leader_->worker, SIGKILL);
  }
}

int ScriptRun::workers_training() const {
  const bool trains = leader_ && leader_->has_entered && !leader_->is_suspended &&
                      !leader_->cut_off && !is_winding_down_;
  return trains ? static_cast<int>(std::max(1U, leader_->computing)) : 0;
}

bool ScriptRun::has_resized() const {
  return workers_training() == order_.workers || (workers_training() > 0 && order_.is_settled);
}

int ScriptRun::slots_held() const {
  if (!leader_ || leader_->is_suspended) {
    return 0;
  }
  // Whoever has lost its line may still have all that it had.
  const auto members = static_cast<int>(roster_.members().size());
  const auto computing = static_cast<int>(std::max(1U, leader_->computing));
  return leader_->cut_off ? std::max(members, computing) : computing;
}

// As long as a silent leader could wake up again it could write where its successor does.
void ScriptRun::find_silent() {
  const auto moment = Clock::now();
  const auto gap = moment - last_turn_;
  last_turn_ = moment;
  if (!leader_ || leader_->is_frozen) {
    return;
  }
  if (gap > options_.patience / 2) {
    // It is we who were not listening. One that starts may be frozen all the same.
    leader_->heard = leader_->has_spoken ? moment : std::min(leader_->heard + gap, moment);
    return;
  }
  if (leader_->told_to_exit) {
    if (moment - *leader_->told_to_exit > options_.exit_patience) {
      leader_->told_to_exit = moment;
      [[maybe_unused]] const Status killed = launcher_.signal(leader_->worker, SIGKILL);
    }
  } else if (leader_->cut_off) {
    find_cut_off(moment);
  } else if (!leader_->has_spoken && moment - leader_->heard > options_.start_patience) {
    leader_->heard = moment;
    leader_->is_overdue = true;
    leader_->verdict =
        fmt::format("no hello since its start for {:.3g} s", to_seconds(options_.start_patience));
    log_line(stderr, "rubato: worker {}: {}; it is started again", leader_->worker.value,
             leader_->verdict);
    [[maybe_unused]] const Status killed = launcher_.signal(leader_->worker, SIGKILL);
  } else if (leader_->has_spoken && !leader_->is_finished &&
             moment - leader_->heard > options_.patience) {
    kill_leader(fmt::format("no heartbeat for {:.3g} s", to_seconds(options_.patience)));
  }
}

// Only the process that said hello: another one may be ready to take its place.
void ScriptRun::kill_leader(const std::string& verdict) {
  leader_->heard = Clock::now();
  leader_->verdict = verdict;
  if (!leader_->process.is_open() || !signal_pidfd(leader_->process.get(), SIGKILL)) {
    [[maybe_unused]] const Status killed = launcher_.signal(leader_->worker, SIGKILL);
  }
}

// Nobody has come to take its place.
void ScriptRun::find_cut_off(Clock::time_point moment) {
  const bool has_left = leader_->seen_exit && leader_->seen_exit->signal == 0;
  if (leader_->is_finished ||
      moment - *leader_->cut_off <=
          (has_left ? options_.exit_patience : options_.reconnect_patience)) {
    return;
  }
  leader_->cut_off = moment;
  if (leader_->verdict.empty()) {
    leader_->verdict =
        fmt::format("disconnected for {:.3g} s", to_seconds(options_.reconnect_patience));
  }
  [[maybe_unused]] const Status killed = launcher_.signal(leader_->worker, SIGKILL);
}

// Its replicas may hold copies of its line, so that the line stays open when it dies.
void ScriptRun::look_after_process() {
  if (!leader_ || !leader_->process.is_open()) {
    return;
  }
  pollfd ended{.fd = leader_->process.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, 0) != 1) {
    return;
  }
  hear();  // What it said before still counts.
  leader_->seen_exit = ended_elsewhere(leader_->process.get(), leader_->pid);
  leader_->process = Descriptor{};
  leader_->channel.reset();
  leader_->cut_off = leader_->cut_off.value_or(Clock::now());
}

}  // namespace rubato::launch::script
