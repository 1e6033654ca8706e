// What workers say, and what follows from it.
#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "rubato/launch/conductor.h"

namespace rubato {
namespace {

// Somebody ended it from outside, maybe with all others: that says nothing against the program.
bool is_kill(const ExitCause& cause) {
  return cause.kind == ExitKind::Signal &&
         (cause.status.signal == SIGKILL || cause.status.signal == SIGTERM);
}

}  // namespace

void Conductor::take_connections() {
  auto arrived = listener_.accept();
  if (arrived) {
    for (UnixChannel& channel : *arrived) {
      pending_connections_.push_back(std::move(channel));
    }
  }
}

// A stranger becomes a worker by its first frame; whoever says anything else is dropped.
void Conductor::accept_hellos() {
  for (std::size_t i = 0; i < pending_connections_.size();) {
    auto frames = pending_connections_[i].receive();
    if (frames && frames->empty()) {
      ++i;
      continue;
    }
    UnixChannel channel = std::move(pending_connections_[i]);
    pending_connections_.erase(pending_connections_.begin() + static_cast<std::ptrdiff_t>(i));
    wire::FromWorker message;
    if (!frames || !message.ParseFromString(frames->front().bytes) || !message.has_hello() ||
        message.hello().token() != token_ || frames->front().descriptors.empty()) {
      continue;
    }
    const WorkerId id{message.hello().worker()};
    const auto found = seats_.find(id);
    if (found == seats_.end() || found->second.channel) {
      continue;
    }
    found->second.channel = std::move(channel);
    found->second.arena = std::move(frames->front().descriptors.front());
    found->second.heard = Clock::now();
    welcome(id, message.hello());
    for (std::size_t later = 1; later < frames->size(); ++later) {
      wire::FromWorker next;
      if (next.ParseFromString((*frames)[later].bytes)) {
        handle(id, next, std::move((*frames)[later].descriptors));
      }
    }
  }
}

void Conductor::welcome(WorkerId worker, const wire::Hello& hello) {
  Seat& seat = seats_.at(worker);
  if (!hello.host().empty()) {
    seat.host = hello.host();
  }
  wire::FromConductor message;
  wire::Welcome& body = *message.mutable_welcome();
  body.set_seed(options_.seed);
  body.set_heartbeat_us(options_.heartbeat.count());
  body.set_snapshot_steps(options_.snapshot_steps);
  body.set_epoch(epoch());
  for (const std::uint64_t milestone : options_.milestones) {
    body.add_milestones(milestone);
  }
  send(seat, message);
  if (seat.is_told_to_exit || is_winding_down_) {
    seat.is_told_to_exit = false;
    end(worker, "not needed any more");
  }
}

// How far the job is: not further than some worker that lives, lest a newcomer skips too much.
std::uint64_t Conductor::epoch() const {
  std::uint64_t highest = 0;
  for (const auto& [id, seat] : seats_) {
    highest = std::max(highest, seat.epoch);
  }
  return highest;
}

void Conductor::hear(WorkerId worker) {
  const auto found = seats_.find(worker);
  if (found == seats_.end() || !found->second.channel) {
    return;
  }
  auto frames = found->second.channel->receive();
  if (!frames) {
    found->second.channel.reset();
    // Most likely it has ended, and the launcher will tell why.
    found->second.is_cut_off = !found->second.is_finished && !found->second.is_told_to_exit;
    found->second.heard = Clock::now();
    return;
  }
  found->second.heard = Clock::now();
  for (Frame& frame : *frames) {
    wire::FromWorker message;
    if (message.ParseFromString(frame.bytes)) {
      handle(worker, message, std::move(frame.descriptors));
    }
  }
}

void Conductor::handle(WorkerId worker, const wire::FromWorker& message,
                       std::vector<Descriptor> descriptors) {
  switch (message.kind_case()) {
    case wire::FromWorker::kWarm:
      timeline_.workers[seats_.at(worker).record].warm = now();
      carry_out(membership_.on_warm(worker), fmt::format("resize to {}", membership_.target()));
      break;
    case wire::FromWorker::kEntered:
      on_entered(worker, message.entered());
      break;
    case wire::FromWorker::kFirstStep:
      on_first_step(message.first_step());
      break;
    case wire::FromWorker::kBroken:
      carry_out(membership_.on_broken(worker, message.broken().generation(),
                                      message.broken().is_entering()),
                fmt::format("worker {}: {}", worker.value, message.broken().cause()));
      break;
    case wire::FromWorker::kParked:
      carry_out(membership_.on_parked(worker, message.parked().generation()), "parked");
      break;
    case wire::FromWorker::kHeartbeat:
      on_heartbeat(worker, message.heartbeat());
      break;
    case wire::FromWorker::kReached:
      note_step(message.reached().step());
      break;
    case wire::FromWorker::kSnapshotWritten:
      keep_snapshot(worker, message.snapshot_written(), std::move(descriptors));
      break;
    case wire::FromWorker::kFinished:
      on_finished(worker, message.finished());
      break;
    case wire::FromWorker::kRefused:
      fail(JobOutcome::Refused, kJobExitBadInput, message.refused().reason());
      break;
    case wire::FromWorker::kProfile:
      add_profile(message.profile());
      break;
    case wire::FromWorker::kStraggler:
      note_straggler(message.straggler());
      break;
    case wire::FromWorker::kTableSet:
      set_in_table(message.table_set());
      break;
    case wire::FromWorker::kTableGet:
      look_up(worker, message.table_get().key());
      break;
    default:
      break;
  }
}

void Conductor::on_heartbeat(WorkerId worker, const wire::Heartbeat& heartbeat) {
  note_step(heartbeat.step());
  seats_.at(worker).epoch = heartbeat.epoch();
  if (heartbeat.steps() > 0) {
    timeline_.loss = heartbeat.loss();
  }
}

void Conductor::keep_snapshot(WorkerId worker, const wire::SnapshotWritten& written,
                              std::vector<Descriptor> descriptors) {
  if (!descriptors.empty()) {
    snapshots_.keep(SnapshotMemory{.worker = worker,
                                   .slot = written.slot(),
                                   .step = written.step(),
                                   .bytes = written.bytes(),
                                   .memory = std::move(descriptors.front())});
  }
}

void Conductor::add_profile(const wire::Profile& profile) {
  const ShapeRecord recent{.workers = static_cast<int>(profile.workers()),
                           .batch = profile.batch(),
                           .steps = profile.steps(),
                           .total_seconds = profile.total_seconds(),
                           .compute_seconds = profile.compute_seconds(),
                           .reduce_seconds = profile.reduce_seconds(),
                           .data_seconds = profile.data_seconds()};
  const auto found = std::ranges::find_if(timeline_.profile, [&](const ShapeRecord& record) {
    return record.workers == recent.workers && record.batch == recent.batch;
  });
  if (found == timeline_.profile.end()) {
    timeline_.profile.push_back(recent);
  } else {
    found->steps += recent.steps;
    found->total_seconds += recent.total_seconds;
    found->compute_seconds += recent.compute_seconds;
    found->reduce_seconds += recent.reduce_seconds;
    found->data_seconds += recent.data_seconds;
  }
  if (events_.on_profile) {
    events_.on_profile(recent);
  }
}

void Conductor::note_straggler(const wire::Straggler& straggler) {
  const GenerationRecord* const record = record_of(straggler.generation());
  if (record != nullptr && straggler.rank() < record->members.size()) {
    timeline_.stragglers.push_back({.generation = straggler.generation(),
                                    .worker = record->members[straggler.rank()],
                                    .evidence = straggler.evidence()});
  }
}

void Conductor::set_in_table(const wire::TableSet& entry) {
  table_[entry.key()] = entry.value();
  for (const WorkerId waiting : std::exchange(table_waits_[entry.key()], {})) {
    look_up(waiting, entry.key());
  }
}

// Answers now, or when somebody has set the key.
void Conductor::look_up(WorkerId worker, const std::string& key) {
  const auto found = table_.find(key);
  const auto seat = seats_.find(worker);
  if (found == table_.end()) {
    table_waits_[key].insert(worker);
  } else if (seat != seats_.end()) {
    wire::FromConductor answer;
    answer.mutable_table_value()->set_key(key);
    answer.mutable_table_value()->set_value(found->second);
    send(seat->second, answer);
  }
}

void Conductor::note_step(std::uint64_t step) {
  if (step > known_step_) {
    known_step_ = step;
    timeline_.steps = step;
    failures_ = 0;
    kills_ = 0;
  }
  if (step > highest_step_) {
    highest_step_ = step;
    if (events_.on_step) {
      events_.on_step(step);
    }
  }
}

void Conductor::on_entered(WorkerId worker, const wire::Entered& entered) {
  if (GenerationRecord* record = record_of(entered.generation())) {
    record->pause = std::max(record->pause, Duration{entered.pause_us()});
    record->received_bytes = std::max(record->received_bytes, entered.received_bytes());
    record->step = entered.step();
    // Only the first word of a generation tells: other members may be heard of after the steps, and
    // even after the generations, that came next.
    if (entered.generation() > entered_generation_) {
      entered_generation_ = entered.generation();
      record->lost_steps = known_step_ > entered.step() ? known_step_ - entered.step() : 0;
      known_step_ = std::min(known_step_, entered.step());
      if (events_.on_leader) {
        events_.on_leader(record->members.front());
      }
    }
    record->entered = now();
    note_step(entered.step());
  }
  carry_out(membership_.on_entered(worker, entered.generation()),
            fmt::format("resize to {}", membership_.target()));
}

void Conductor::on_first_step(const wire::FirstStep& first) {
  note_step(first.step());
  GenerationRecord* const record = record_of(first.generation());
  if (record != nullptr && record->first_step == Duration{}) {
    record->first_step = now();
    if (events_.on_generation) {
      events_.on_generation(*record);
    }
  }
}

void Conductor::on_finished(WorkerId worker, const wire::Finished& finished) {
  note_step(finished.step());
  seats_.at(worker).is_finished = true;
  if (finished_generation_) {
    timeline_.hashes_agree =
        timeline_.hashes_agree && timeline_.parameter_hash == finished.parameter_hash();
    return;
  }
  finished_generation_ = finished.generation();
  finished_ = Clock::now();
  timeline_.outcome = JobOutcome::Finished;
  timeline_.parameter_hash = finished.parameter_hash();
  timeline_.loss = finished.loss();
  // All members have agreed that this was the last step. Whoever is none has nothing left to do,
  // even if it waits for them in a newer generation.
  const GenerationRecord* const record = record_of(finished.generation());
  for (const auto& [id, seat] : seats_) {
    if (record == nullptr || std::ranges::count(record->members, id) == 0) {
      end(id, "the job is finished");
    }
  }
  is_winding_down_ = true;
}

void Conductor::on_ended(const WorkerEnd& ended) {
  const auto found = seats_.find(ended.worker);
  if (found == seats_.end()) {
    return;
  }
  // What it said before it ended still counts.
  hear(ended.worker);
  const Seat seat = std::move(found->second);
  seats_.erase(found);
  if (events_.on_end) {
    events_.on_end(ended.worker);
  }
  std::string cause = describe(ended.cause);
  if (!seat.verdict.empty()) {
    cause += ", " + seat.verdict;
  }
  timeline_.workers[seat.record].ended = now();
  timeline_.workers[seat.record].cause = cause;
  // What the program does after training is done by the first rank alone.
  const GenerationRecord* const last = record_of(finished_generation_.value_or(0));
  const bool is_leader = last != nullptr && last->members.front() == ended.worker;
  if (is_leader && ended.cause.kind != ExitKind::Finished) {
    timeline_.exit_code = shell_code(ended.cause.status);
    timeline_.cause = ended.cause.kind;
    timeline_.outcome = JobOutcome::Failed;
    timeline_.reason = fmt::format("worker {} after training: {}", ended.worker.value, cause);
  }
  if (is_winding_down_) {
    return;
  }
  if (ended.cause.kind == ExitKind::Requeue) {
    fail(JobOutcome::Requeue, kExitRequeue, "the program asked to be queued again");
    return;
  }
  const bool is_own_failure = ended.cause.kind == ExitKind::UserError ||
                              ended.cause.kind == ExitKind::OutOfMemory ||
                              ended.cause.kind == ExitKind::Finished ||
                              ended.cause.kind == ExitKind::Signal || seat.is_overdue;
  if (is_own_failure && !seat.is_told_to_exit) {
    ++(is_kill(ended.cause) && !seat.is_overdue ? kills_ : failures_);
    const bool never_spoke = timeline_.workers[seat.record].warm == Duration{};
    if (failures_ >= options_.failures_max || kills_ >= options_.kills_max ||
        (ended.cause.kind == ExitKind::Finished && never_spoke)) {
      const bool is_plain = ended.cause.kind == ExitKind::Finished;
      timeline_.cause = is_plain ? ExitKind::UserError : ended.cause.kind;
      fail(JobOutcome::Failed, is_plain ? kJobExitBadInput : shell_code(ended.cause.status),
           is_plain ? "the program ended without training a step under Rubato" : cause);
      return;
    }
  }
  ordered_ = Clock::now();
  carry_out(membership_.on_lost(ended.worker),
            fmt::format("worker {}: {}", ended.worker.value, cause));
}

}  // namespace rubato
