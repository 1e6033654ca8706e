// What the leader of a script says, and what follows from it.
#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/process/pidfd.h"
#include "rubato/launch/script/script_run.h"
#include "rubato/wire/log_line.h"

namespace rubato::launch::script {

using wire::script::FromScript;
using wire::script::ToScript;

void ScriptRun::take_connections() {
  auto arrived = listener_.accept();
  if (arrived) {
    for (UnixChannel& channel : *arrived) {
      pending_connections_.push_back(std::move(channel));
    }
  }
}

// A stranger becomes the leader by its first frame; whoever says anything else is dropped.
void ScriptRun::accept_hellos() {
  for (std::size_t i = 0; i < pending_connections_.size();) {
    auto frames = pending_connections_[i].receive();
    if (frames && frames->empty()) {
      ++i;
      continue;
    }
    UnixChannel channel = std::move(pending_connections_[i]);
    pending_connections_.erase(pending_connections_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!frames || !admit(channel, frames->front())) {
      continue;
    }
    for (std::size_t later = 1; later < frames->size(); ++later) {
      FromScript next;
      if (next.ParseFromString((*frames)[later].bytes)) {
        handle(next, std::move((*frames)[later].descriptors));
      }
    }
  }
}

// False if this is not the leader, or not the only one.
bool ScriptRun::admit(UnixChannel& channel, const Frame& frame) {
  FromScript message;
  if (!message.ParseFromString(frame.bytes) || !message.has_hello()) {
    return false;
  }
  const wire::script::Hello& hello = message.hello();
  if (!leader_ || hello.token() != token_ || WorkerId{hello.worker()} != leader_->worker) {
    return false;
  }
  if (hello.version() != kScriptProtocol) {
    say("protocol", fmt::format("the Python package speaks version {} of the protocol, this "
                                "program version {}: install both from one source",
                                hello.version(), kScriptProtocol));
    return false;
  }
  look_after_process();  // A copy may be quicker than our knowledge of the leader's death.
  if (leader_->channel) {
    return false;  // It lives and has a line: this is a child that has inherited its name.
  }
  const bool is_first = !leader_->has_spoken;
  if (!is_first && hello.pid() != leader_->pid) {
    come_back(hello);
  }
  leader_->channel = std::move(channel);
  leader_->connection = ++connections_;
  leader_->pid = static_cast<pid_t>(hello.pid());
  leader_->process = open_pidfd(leader_->pid);
  leader_->heard = Clock::now();
  leader_->cut_off.reset();
  leader_->seen_exit.reset();
  leader_->verdict.clear();
  leader_->has_spoken = true;
  leader_->computing = std::max(1U, hello.workers());
  if (is_first) {
    timeline_.workers[leader_->record].warm = now();
  }
  welcome(is_first);
  return true;
}

// A copy of the leader has taken its place, at the step at which it was made.
void ScriptRun::come_back(const wire::script::Hello& hello) {
  ++kills_;
  std::string cause = fmt::format("worker {}: ", leader_->worker.value);
  if (leader_->seen_exit && leader_->seen_exit->signal != 0) {
    cause += "killed by " + signal_name(leader_->seen_exit->signal);
  } else {
    cause += "lost";
  }
  if (!leader_->verdict.empty()) {
    cause += ", " + leader_->verdict;
  }
  note_roster(roster_.set_replicas({}, 0), cause);
  add_generation(cause, true, leader_->cut_off.value_or(Clock::now()));
  GenerationRecord& record = timeline_.generations.back();
  record.step = hello.step();
  record.lost_steps = known_step_ > hello.step() ? known_step_ - hello.step() : 0;
  known_step_ = std::min(known_step_, hello.step());
  timeline_.steps = known_step_;
  if (kills_ >= options_.kills_max) {
    fail(JobOutcome::Failed, kJobExitFailed,
         fmt::format("{}; the script was lost {} times without a new step", cause, kills_));
  }
}

void ScriptRun::welcome(bool is_first) {
  ToScript message;
  wire::script::Welcome& body = *message.mutable_welcome();
  body.set_seed(options_.seed);
  body.set_heartbeat_us(options_.heartbeat.count());
  body.set_workers(static_cast<std::uint32_t>(order_.workers));
  body.set_order(order_.number);
  body.set_snapshot_steps(options_.snapshot_steps);
  for (const std::uint64_t milestone : options_.milestones) {
    body.add_milestones(milestone);
  }
  body.set_steps_declared(options_.steps_declared);
  body.set_until(options_.until);
  std::vector<int> lent;
  if (const auto resume = snapshots_.newest(); resume && is_first) {
    body.set_resume_bytes(resume->bytes);
    body.set_resume_step(resume->step);
    lent.push_back(resume->memory);
  }
  send(message, lent);
  tell_rest();
  tell_early_end();
}

void ScriptRun::hear() {
  if (!leader_ || !leader_->channel) {
    return;
  }
  auto frames = leader_->channel->receive();
  if (!frames) {
    leader_->channel.reset();
    leader_->cut_off = Clock::now();
    return;
  }
  if (!frames->empty()) {
    leader_->heard = Clock::now();
  }
  for (Frame& frame : *frames) {
    FromScript message;
    if (message.ParseFromString(frame.bytes)) {
      handle(message, std::move(frame.descriptors));
    }
  }
}

void ScriptRun::handle(const FromScript& message, std::vector<Descriptor> descriptors) {
  switch (message.kind_case()) {
    case FromScript::kAlive:
      on_alive(message.alive());
      break;
    case FromScript::kReached:
      note_step(message.reached().step());
      break;
    case FromScript::kResized:
      on_resized(message.resized());
      break;
    case FromScript::kProfile:
      on_profile(message.profile());
      break;
    case FromScript::kSnapshotWritten:
      keep_snapshot(message.snapshot_written(), std::move(descriptors));
      break;
    case FromScript::kFinished:
      on_finished(message.finished());
      break;
    case FromScript::kNotice:
      notice(message.notice().key(), message.notice().text());
      break;
    case FromScript::kMetrics:
      on_metrics(message.metrics());
      break;
    case FromScript::kMemory:
      on_memory(message.memory());
      break;
    case FromScript::kSuspended:
      on_suspended(message.suspended());
      break;
    default:
      break;
  }
}

void ScriptRun::on_alive(const wire::script::Alive& alive) {
  leader_->computing = alive.workers();
  if (alive.has_loss()) {
    timeline_.loss = alive.loss();
  }
  note_step(alive.step());
}

void ScriptRun::on_resized(const wire::script::Resized& resized) {
  leader_->computing = resized.workers();
  leader_->has_entered = true;
  const bool answers = !order_.is_answered && resized.order() >= order_.number;
  std::string cause = resized.cause();
  if (cause.empty()) {
    cause = answers ? order_.cause : fmt::format("resize to {}", resized.workers());
  }
  const std::vector<pid_t> pids(resized.pids().begin(), resized.pids().end());
  note_roster(roster_.set_replicas(pids, leader_->pid), cause);
  const GenerationRecord& last = timeline_.generations.back();
  if (last.entered != Duration{} && last.members != roster_.members()) {
    add_generation(cause, resized.is_forced(), answers ? order_.given : Clock::now());
  }
  order_.is_answered = order_.is_answered || answers;
  order_.is_settled = order_.is_settled || answers;
  enter(resized.step(), Duration{resized.pause_us()});
  note_step(resized.step());
}

void ScriptRun::on_suspended(const wire::script::Suspended& suspended) {
  note_step(suspended.step());
  note_roster(roster_.set_replicas({}, leader_->pid), rest_reason_);
  leader_->is_suspended = rest_ != Rest::None;
  leader_->computing = 1;
}

void ScriptRun::on_finished(const wire::script::Finished& finished) {
  note_step(finished.step());
  leader_->is_finished = true;
  timeline_.parameter_hash = finished.parameter_hash();
  timeline_.loss = finished.loss();
}

void ScriptRun::on_profile(const wire::script::Profile& profile) {
  const ShapeRecord recent{.workers = static_cast<int>(profile.workers()),
                           .steps = profile.steps(),
                           .total_seconds = profile.total_seconds()};
  if (recent.steps == 0) {
    return;
  }
  const auto found = std::ranges::find(timeline_.profile, recent.workers, &ShapeRecord::workers);
  if (found == timeline_.profile.end()) {
    timeline_.profile.push_back(recent);
  } else {
    found->steps += recent.steps;
    found->total_seconds += recent.total_seconds;
  }
  if (events_.on_profile) {
    events_.on_profile(recent);
  }
}

void ScriptRun::on_metrics(const wire::script::Metrics& metrics) {
  if (!events_.on_metrics) {
    return;
  }
  std::vector<MetricValue> values;
  for (const wire::script::MetricPoint& point : metrics.points()) {
    values.push_back({.name = point.name(), .value = point.value(), .step = point.step()});
  }
  events_.on_metrics(values);
}

void ScriptRun::on_memory(const wire::script::Memory& memory) {
  timeline_.memory = {.worker_bytes = memory.worker_bytes(),
                      .limit_bytes = memory.limit_bytes(),
                      .batch = memory.batch(),
                      .workers = static_cast<int>(memory.workers()),
                      .pieces = static_cast<int>(memory.pieces()),
                      .piece_rows = memory.piece_rows()};
}

void ScriptRun::keep_snapshot(const wire::script::SnapshotWritten& written,
                              std::vector<Descriptor> descriptors) {
  if (!descriptors.empty()) {
    // Slots are names of one connection: a copy of the leader begins to count anew.
    snapshots_.keep(SnapshotMemory{.worker = WorkerId{leader_->connection},
                                   .slot = written.slot(),
                                   .step = written.step(),
                                   .bytes = written.bytes(),
                                   .memory = std::move(descriptors.front())});
  }
}

void ScriptRun::note_step(std::uint64_t step) {
  GenerationRecord& record = timeline_.generations.back();
  if (step < known_step_) {
    say("trained-again",
        fmt::format("the script counts step {} after step {} was reached: what lies between is "
                    "trained a second time",
                    step, known_step_));
    record.lost_steps += known_step_ - step;
    record.step = std::min(record.step, step);
  }
  known_step_ = step;
  timeline_.steps = step;
  if (step > record.step) {
    enter(record.step, Duration{});
    leader_->has_entered = true;
    if (record.first_step == Duration{}) {
      record.first_step = now();
      if (events_.on_generation) {
        events_.on_generation(record);
      }
    }
  }
  order_.is_settled = order_.is_settled || step >= order_.step + kUnansweredSteps;
  if (step > highest_step_) {
    highest_step_ = step;
    error_exits_ = 0;
    failures_ = 0;
    kills_ = 0;
    if (events_.on_step) {
      events_.on_step(step);
    }
  }
}

// The last generation trains; once.
void ScriptRun::enter(std::uint64_t step, Duration pause) {
  GenerationRecord& record = timeline_.generations.back();
  if (record.entered == Duration{}) {
    record.members = roster_.members();
    record.entered = now();
    record.step = step;
    record.pause = pause;
  }
}

void ScriptRun::add_generation(const std::string& cause, bool is_forced,
                               Clock::time_point ordered) {
  timeline_.generations.push_back(
      {.number = timeline_.generations.size() + 1,
       .is_forced = is_forced,
       .cause = cause,
       .members = roster_.members(),
       .ordered = std::chrono::duration_cast<Duration>(ordered - began_),
       .published = now()});
}

void ScriptRun::note_roster(const RosterChange& change, const std::string& why) {
  for (const WorkerId worker : change.left) {
    const auto found = std::ranges::find(timeline_.workers, worker, &WorkerRecord::worker);
    if (found != timeline_.workers.end()) {
      found->ended = now();
      found->cause = why;
    }
  }
  for (const WorkerId worker : change.joined) {
    const bool is_leader = leader_->worker == worker;
    timeline_.workers.push_back(
        {.worker = worker, .started = now(), .warm = is_leader ? Duration{} : now()});
  }
}

// Once per key; the script has printed its own itself.
void ScriptRun::notice(const std::string& key, const std::string& text) {
  constexpr std::size_t kNoticesMax = 200;
  const bool is_known = std::ranges::count(timeline_.notices, key, &JobNotice::key) > 0;
  if (is_known || timeline_.notices.size() >= kNoticesMax) {
    return;
  }
  timeline_.notices.push_back({.key = key, .text = text});
  if (events_.on_notice) {
    events_.on_notice(timeline_.notices.back());
  }
}

void ScriptRun::say(const std::string& key, const std::string& text) {
  log_line(stderr, "rubato: {}", text);
  notice(key, text);
}

}  // namespace rubato::launch::script
