// What follows from the end of a leader's process.
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/script/script_run.h"

namespace rubato::launch::script {
namespace {

// Somebody ended it from outside: that says nothing against the script.
bool is_outside_kill(const ExitCause& cause) {
  return cause.kind == ExitKind::Lost ||
         (cause.kind == ExitKind::Signal &&
          (cause.status.signal == SIGKILL || cause.status.signal == SIGTERM));
}

// How the script ended, if the process that was started for it outlived it and was killed.
ExitCause cause_of_code(int code) {
  if (code == 0) {
    return {};
  }
  return {.kind = code == kExitRequeue ? ExitKind::Requeue : ExitKind::UserError,
          .status = {.code = code}};
}

}  // namespace

void ScriptRun::on_ended(const WorkerEnd& ended) {
  if (!leader_ || leader_->worker != ended.worker) {
    return;
  }
  hear();  // What it said before it ended still counts.
  const Leader leader = std::move(*leader_);
  leader_.reset();
  if (events_.on_end) {
    events_.on_end(leader.worker);
  }
  const bool left_by_itself = leader.seen_exit && leader.seen_exit->signal == 0;
  const ExitCause cause = ended.cause.kind == ExitKind::KilledByUs && left_by_itself
                              ? cause_of_code(leader.seen_exit->code)
                              : ended.cause;
  std::string words = describe(cause);
  if (!leader.verdict.empty()) {
    words += ", " + leader.verdict;
  }
  timeline_.workers[leader.record].ended = now();
  timeline_.workers[leader.record].cause = words;
  if (is_winding_down_ || (leader.told_to_exit && rest_ == Rest::Parking)) {
    return;  // What is parked is started again when it is needed.
  }
  if (leader.told_to_exit) {
    rest_ = Rest::None;
    start(rest_reason_, false);
  } else {
    restart_or_fail(leader, cause, words);
  }
}

void ScriptRun::restart_or_fail(const Leader& leader, const ExitCause& cause,
                                const std::string& words) {
  if (cause.kind == ExitKind::Finished) {
    conclude();
    return;
  }
  if (cause.kind == ExitKind::Requeue) {
    fail(JobOutcome::Requeue, kExitRequeue, "the program asked to be queued again");
    return;
  }
  bool is_over = false;
  if (cause.kind == ExitKind::UserError) {
    is_over = ++error_exits_ >= options_.error_exits_max;
  } else if (leader.is_overdue) {
    is_over = ++failures_ >= options_.failures_max;
  } else if (is_outside_kill(cause) || !leader.verdict.empty()) {
    is_over = ++kills_ >= options_.kills_max;
  } else if (cause.kind != ExitKind::KilledByUs) {
    is_over = ++failures_ >= options_.failures_max;
  }
  if (is_over) {
    timeline_.cause = cause.kind;
    fail(JobOutcome::Failed, shell_code(cause.status), words);
    return;
  }
  if (rest_ == Rest::None || rest_ == Rest::Moving) {
    rest_ = Rest::None;
    start(fmt::format("worker {}: {}", leader.worker.value, words), true);
  }
}

// The script has ended with exit code 0. What it did not do must not go unseen.
void ScriptRun::conclude() {
  timeline_.outcome = JobOutcome::Finished;
  is_winding_down_ = true;
  const std::uint64_t declared = options_.steps_declared;
  if (!early_reason_.empty()) {
    timeline_.reason = early_reason_;
  } else if (timeline_.steps == 0) {
    timeline_.reason = "the script ended with exit code 0 without taking a training step";
    if (declared > 0) {
      timeline_.reason += fmt::format("; {} were declared", declared);
      timeline_.outcome = JobOutcome::Failed;
      timeline_.cause = ExitKind::UserError;
      timeline_.exit_code = kJobExitBadInput;
    }
    notice("steps", timeline_.reason);
  } else if (declared > 0 && timeline_.steps != declared) {
    timeline_.reason = fmt::format(
        "the script ended with exit code 0 after {} steps; {} were "
        "declared",
        timeline_.steps, declared);
    notice("steps", timeline_.reason);
  }
  snapshots_.flush();
}

}  // namespace rubato::launch::script
