#include "rubato/launch/conductor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "rubato/base/random.h"
#include "rubato/wire/meeting.h"

namespace rubato {
namespace {

constexpr int kExitBadInput = 65;
constexpr int kExitFailed = 1;

Descriptor meeting_memory() {
  Descriptor memory(::memfd_create("rubato-meeting", MFD_CLOEXEC));
  RUBATO_CHECK(memory.is_open() && ::ftruncate(memory.get(), kMeetingBytes) == 0);
  return memory;
}

wire::FromConductor exit_message(const std::string& reason) {
  wire::FromConductor message;
  message.mutable_exit()->set_reason(reason);
  return message;
}

}  // namespace

Conductor::Conductor(ConductorOptions options, Launcher& launcher, ConductorEvents events,
                     UnixListener listener)
    : options_(std::move(options)),
      launcher_(launcher),
      events_(std::move(events)),
      listener_(std::move(listener)),
      membership_(options_.membership),
      token_(Random(options_.seed).fork(static_cast<std::uint64_t>(::getpid())).next()),
      began_(Clock::now()),
      last_turn_(began_),
      ordered_(began_) {
  timeline_.seed = options_.seed;
  if (options_.hosts.empty()) {
    options_.hosts.emplace_back("local");
  }
}

Result<std::unique_ptr<Conductor>> Conductor::open(ConductorOptions options, Launcher& launcher,
                                                   ConductorEvents events) {
  auto listener = UnixListener::open(options.directory + "/conductor");
  if (!listener) {
    return listener.error();
  }
  std::unique_ptr<Conductor> conductor(
      new Conductor(std::move(options), launcher, std::move(events),  // NOLINT: private constructor
                    std::move(*listener)));
  if (conductor->options_.snapshot_steps > 0) {
    const auto warnings =
        conductor->snapshots_.use_directory(conductor->options_.directory + "/snapshots");
    if (!warnings) {
      return warnings.error();
    }
    for (const std::string& warning : *warnings) {
      fmt::print(stderr, "rubato: {}\n", warning);
    }
  }
  if (const auto resume = conductor->snapshots_.newest()) {
    conductor->highest_step_ = resume->step;
  }
  conductor->carry_out(conductor->membership_.set_target(conductor->options_.workers), "start");
  return conductor;
}

Duration Conductor::now() const {
  return std::chrono::duration_cast<Duration>(Clock::now() - began_);
}

void Conductor::resize(int workers) {
  ordered_ = Clock::now();
  carry_out(membership_.set_target(workers), fmt::format("resize to {}", workers));
}

std::optional<WorkerId> Conductor::worker_at(int rank) const {
  const auto& members = membership_.members();
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < members.size() ? std::optional(members[index]) : std::nullopt;
}

Status Conductor::signal(WorkerId worker, int signal) { return launcher_.signal(worker, signal); }

void Conductor::carry_out(const MembershipCommands& commands, const std::string& cause) {
  for (const MembershipCommand& command : commands) {
    if (is_winding_down_) {
      return;
    }
    if (const auto* started = std::get_if<StartWorker>(&command)) {
      start(started->worker);
    } else if (const auto* stopped = std::get_if<StopWorker>(&command)) {
      end(stopped->worker, "not needed any more");
    } else {
      publish(std::get<PublishGeneration>(command), cause);
    }
  }
}

void Conductor::start(WorkerId worker) {
  Seat& seat = seats_[worker];
  seat.host = options_.hosts[(worker.value - 1) % options_.hosts.size()];
  seat.record = timeline_.workers.size();
  timeline_.workers.push_back(WorkerRecord{.worker = worker, .started = now()});
  Environment environment = options_.environment;
  environment["RUBATO_CONDUCTOR"] = listener_.path();
  environment["RUBATO_WORKER"] = std::to_string(worker.value);
  environment["RUBATO_TOKEN"] = std::to_string(token_);
  environment["RUBATO_HOST"] = seat.host;
  const Status started = launcher_.start({.worker = worker,
                                          .argv = options_.command,
                                          .environment = std::move(environment),
                                          .directory = options_.working_directory});
  if (!started) {
    fail(JobOutcome::Failed, kExitBadInput, started.error().message);
  }
}

// A worker that talks to us leaves by itself; one that does not yet is killed.
void Conductor::end(WorkerId worker, const std::string& reason) {
  const auto found = seats_.find(worker);
  if (found == seats_.end() || std::exchange(found->second.is_told_to_exit, true)) {
    return;
  }
  if (found->second.channel) {
    send(found->second, exit_message(reason));
  } else {
    [[maybe_unused]] const Status killed = launcher_.signal(worker, SIGKILL);
  }
}

void Conductor::send(Seat& seat, const wire::FromConductor& message, const std::vector<int>& lent) {
  if (seat.channel) {
    // A worker that is gone is told of by the launcher.
    [[maybe_unused]] const Status sent = seat.channel->send(message.SerializeAsString(), lent);
  }
}

GenerationRecord* Conductor::record_of(std::uint64_t generation) {
  const auto found = std::ranges::find(timeline_.generations, generation, &GenerationRecord::number);
  return found == timeline_.generations.end() ? nullptr : &*found;
}

void Conductor::publish(const PublishGeneration& generation, const std::string& cause) {
  timeline_.generations.push_back(
      GenerationRecord{.number = generation.number,
                       .is_forced = generation.is_forced,
                       .cause = cause,
                       .members = generation.members,
                       .ordered = std::chrono::duration_cast<Duration>(
                           (generation.is_forced ? Clock::now() : ordered_) - began_),
                       .published = now()});
  wire::FromConductor message;
  wire::Generation& body = *message.mutable_generation();
  body.set_number(generation.number);
  body.set_is_forced(generation.is_forced);
  for (const WorkerId member : generation.members) {
    wire::Member& added = *body.add_members();
    added.set_worker(member.value);
    added.set_host(seats_.at(member).host);
  }
  const auto resume = generation.has_state ? std::nullopt : snapshots_.newest();
  body.set_resume_bytes(resume ? resume->bytes : 0);
  body.set_resume_step(resume ? resume->step : 0);
  std::map<std::string, Descriptor> meetings;
  for (auto& [id, seat] : seats_) {
    if (!seat.channel || seat.is_told_to_exit) {
      continue;
    }
    const bool is_member = std::ranges::count(generation.members, id) > 0;
    Descriptor& meeting = meetings[seat.host];
    if (!meeting.is_open()) {
      meeting = meeting_memory();
    }
    std::vector<int> lent{meeting.get()};
    body.clear_new_arenas();
    std::set<WorkerId> met;
    for (const WorkerId member : generation.members) {
      const Seat& peer = seats_.at(member);
      if (is_member && member != id && peer.host == seat.host) {
        met.insert(member);
        if (!seat.met.contains(member)) {
          body.add_new_arenas(member.value);
          lent.push_back(peer.arena.get());
        }
      }
    }
    seat.met = std::move(met);
    if (resume) {
      lent.push_back(resume->memory);
    }
    send(seat, message, lent);
  }
}

bool Conductor::turn(Duration wait) {
  std::vector<pollfd> ready{{.fd = listener_.descriptor(), .events = POLLIN, .revents = 0},
                            {.fd = launcher_.descriptor(), .events = POLLIN, .revents = 0}};
  for (const UnixChannel& stranger : strangers_) {
    ready.push_back({.fd = stranger.descriptor(), .events = POLLIN, .revents = 0});
  }
  std::vector<WorkerId> talking;
  for (const auto& [id, seat] : seats_) {
    if (seat.channel) {
      ready.push_back({.fd = seat.channel->descriptor(), .events = POLLIN, .revents = 0});
      talking.push_back(id);
    }
  }
  const Duration longest = std::min(wait, options_.heartbeat);
  ::poll(ready.data(), ready.size(),
         static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(longest).count()));
  const std::size_t first = ready.size() - talking.size();
  for (std::size_t i = 0; i < talking.size(); ++i) {
    if (ready[first + i].revents != 0) {
      hear(talking[i]);
    }
  }
  hear_strangers();
  take_connections();
  for (const WorkerEnd& end : launcher_.ended()) {
    on_ended(end);
  }
  for (const FreedSnapshot& freed : snapshots_.take_freed()) {
    if (const auto found = seats_.find(freed.worker); found != seats_.end()) {
      wire::FromConductor message;
      message.mutable_snapshot_free()->set_slot(freed.slot);
      send(found->second, message);
    }
  }
  for (const std::string& problem : snapshots_.take_problems()) {
    fmt::print(stderr, "rubato: {}\n", problem);
  }
  find_hung();
  timeline_.total = now();
  return !(is_winding_down_ && seats_.empty());
}

void Conductor::take_connections() {
  auto arrived = listener_.accept();
  if (arrived) {
    for (UnixChannel& channel : *arrived) {
      strangers_.push_back(std::move(channel));
    }
  }
}

// A stranger becomes a worker by its first frame; whoever says anything else is dropped.
void Conductor::hear_strangers() {
  for (std::size_t i = 0; i < strangers_.size();) {
    auto frames = strangers_[i].receive();
    if (frames && frames->empty()) {
      ++i;
      continue;
    }
    UnixChannel channel = std::move(strangers_[i]);
    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
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
  for (const std::uint64_t milestone : options_.milestones) {
    body.add_milestones(milestone);
  }
  send(seat, message);
  if (seat.is_told_to_exit || is_winding_down_) {
    send(seat, exit_message("not needed any more"));
  }
}

void Conductor::hear(WorkerId worker) {
  const auto found = seats_.find(worker);
  if (found == seats_.end() || !found->second.channel) {
    return;
  }
  auto frames = found->second.channel->receive();
  if (!frames) {
    found->second.channel.reset();
    // Without a line it can be told of no generation. Most likely it has ended anyway.
    if (!found->second.is_finished && !found->second.is_told_to_exit) {
      [[maybe_unused]] const Status killed = launcher_.signal(worker, SIGKILL);
    }
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
      note_step(message.heartbeat().step());
      if (message.heartbeat().steps() > 0) {
        timeline_.loss = message.heartbeat().loss();
      }
      if (events_.on_progress && worker_at(0) == worker) {
        events_.on_progress(message.heartbeat());
      }
      break;
    case wire::FromWorker::kReached:
      note_step(message.reached().step());
      if (events_.on_reached) {
        events_.on_reached(message.reached().step());
      }
      break;
    case wire::FromWorker::kSnapshotWritten:
      if (!descriptors.empty()) {
        const wire::SnapshotWritten& written = message.snapshot_written();
        snapshots_.keep(SnapshotMemory{.worker = worker,
                                       .slot = written.slot(),
                                       .step = written.step(),
                                       .bytes = written.bytes(),
                                       .memory = std::move(descriptors.front())});
      }
      break;
    case wire::FromWorker::kFinished:
      on_finished(worker, message.finished());
      break;
    case wire::FromWorker::kRefused:
      fail(JobOutcome::Refused, kExitBadInput, message.refused().reason());
      break;
    case wire::FromWorker::kTableSet: {
      const std::string& key = message.table_set().key();
      table_[key] = message.table_set().value();
      wire::FromConductor answer;
      answer.mutable_table_value()->set_key(key);
      answer.mutable_table_value()->set_value(table_[key]);
      for (const WorkerId waiting : table_waits_[key]) {
        if (const auto found = seats_.find(waiting); found != seats_.end()) {
          send(found->second, answer);
        }
      }
      table_waits_.erase(key);
      break;
    }
    case wire::FromWorker::kTableGet: {
      const std::string& key = message.table_get().key();
      if (const auto found = table_.find(key); found != table_.end()) {
        wire::FromConductor answer;
        answer.mutable_table_value()->set_key(key);
        answer.mutable_table_value()->set_value(found->second);
        send(seats_.at(worker), answer);
      } else {
        table_waits_[key].insert(worker);
      }
      break;
    }
    default:
      break;
  }
}

void Conductor::note_step(std::uint64_t step) {
  if (step > highest_step_) {
    highest_step_ = step;
    failures_ = 0;
  }
  timeline_.steps = highest_step_;
}

void Conductor::on_entered(WorkerId worker, const wire::Entered& entered) {
  if (GenerationRecord* record = record_of(entered.generation())) {
    record->pause = std::max(record->pause, Duration{entered.pause_us()});
    record->received_bytes = std::max(record->received_bytes, entered.received_bytes());
    record->step = entered.step();
    record->entered = now();
    record->lost_steps = highest_step_ > entered.step() ? highest_step_ - entered.step() : 0;
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
  const bool is_first = timeline_.outcome != JobOutcome::Finished;
  if (!is_first && timeline_.parameter_hash != finished.parameter_hash()) {
    timeline_.hashes_agree = false;
  }
  timeline_.outcome = JobOutcome::Finished;
  timeline_.parameter_hash = finished.parameter_hash();
  timeline_.loss = finished.loss();
  seats_.at(worker).is_finished = true;
  // All members have agreed that this was the last step; whoever is none has nothing left to do.
  for (auto& [id, seat] : seats_) {
    if (std::ranges::count(membership_.members(), id) == 0) {
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
  const std::string cause = describe(ended.cause);
  timeline_.workers[seat.record].ended = now();
  timeline_.workers[seat.record].cause = cause;
  // What the program does after training is done by the first rank alone.
  const bool is_leader = worker_at(0) == ended.worker;
  if (seat.is_finished && is_leader && ended.cause.kind != ExitKind::Finished) {
    timeline_.exit_code = shell_code(ended.cause.status);
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
  const bool is_own_failure =
      ended.cause.kind == ExitKind::UserError || ended.cause.kind == ExitKind::OutOfMemory ||
      ended.cause.kind == ExitKind::Finished || ended.cause.kind == ExitKind::Signal;
  if (is_own_failure && !seat.is_told_to_exit) {
    ++failures_;
    const bool never_spoke = timeline_.workers[seat.record].warm == Duration{};
    if (static_cast<int>(failures_) >= options_.failures_max ||
        (ended.cause.kind == ExitKind::Finished && never_spoke)) {
      const bool is_plain = ended.cause.kind == ExitKind::Finished;
      fail(JobOutcome::Failed, is_plain ? kExitBadInput : shell_code(ended.cause.status),
           is_plain ? "the program ended without training a step under Rubato" : cause);
      return;
    }
  }
  carry_out(membership_.on_lost(ended.worker),
            fmt::format("worker {}: {}", ended.worker.value, cause));
}

// A stopped or frozen worker holds up all others. It is killed: as long as it could wake up again it
// could write into the memory of the others.
void Conductor::find_hung() {
  const auto moment = Clock::now();
  const bool was_asleep = moment - last_turn_ > options_.patience / 2;
  last_turn_ = moment;
  for (auto& [id, seat] : seats_) {
    if (was_asleep) {
      seat.heard = moment;  // It is we who were not listening.
    } else if (seat.channel && moment - seat.heard > options_.patience) {
      seat.heard = moment;
      [[maybe_unused]] const Status killed = launcher_.signal(id, SIGKILL);
    }
  }
}

void Conductor::fail(JobOutcome outcome, int exit_code, std::string reason) {
  if (is_winding_down_) {
    return;
  }
  timeline_.outcome = outcome;
  timeline_.exit_code = exit_code;
  timeline_.reason = std::move(reason);
  wind_down();
}

void Conductor::stop(const std::string& reason) { fail(JobOutcome::Failed, kExitFailed, reason); }

void Conductor::wind_down() {
  is_winding_down_ = true;
  for (auto& [id, seat] : seats_) {
    [[maybe_unused]] const Status killed = launcher_.signal(id, SIGKILL);
  }
}

}  // namespace rubato
