#include "rubato/launch/conductor.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/base/random.h"
#include "rubato/wire/log_line.h"
#include "rubato/wire/meeting.h"

namespace rubato {
namespace {

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

Conductor::Conductor(ConductorOptions options, Launcher& launcher, TrainingRunEvents events,
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
                                                   TrainingRunEvents events) {
  auto listener = UnixListener::open(options.directory + "/conductor");
  if (!listener) {
    return listener.error();
  }
  std::unique_ptr<Conductor> conductor(
      new Conductor(std::move(options), launcher, std::move(events),  // NOLINT: private constructor
                    std::move(*listener)));
  if (conductor->options_.snapshot_steps > 0 || conductor->options_.keeps_snapshots) {
    const auto warnings =
        conductor->snapshots_.use_directory(conductor->options_.directory + "/snapshots");
    if (!warnings) {
      return warnings.error();
    }
    for (const std::string& warning : *warnings) {
      log_line(stderr, "rubato: {}", warning);
    }
  }
  if (const auto resume = conductor->snapshots_.newest()) {
    conductor->known_step_ = resume->step;
    conductor->highest_step_ = resume->step;
  }
  conductor->carry_out(conductor->membership_.set_target(conductor->options_.workers), "start");
  return conductor;
}

Duration Conductor::now() const {
  return std::chrono::duration_cast<Duration>(Clock::now() - began_);
}

void Conductor::resize(int workers, std::set<WorkerId> leaving) {
  suspend_by_.reset();
  ordered_ = Clock::now();
  carry_out(membership_.set_target(workers, std::move(leaving)),
            fmt::format("resize to {}", workers));
}

void Conductor::suspend(const std::string& reason) {
  if (is_winding_down_) {
    return;
  }
  ordered_ = Clock::now();
  suspend_by_ = ordered_ + options_.suspend_patience;
  suspend_reason_ = reason;
  carry_out(membership_.set_target(0), reason);
}

// What was committed lies in a snapshot once all have parked: the leader's words come in order.
void Conductor::finish_suspending() {
  if (!suspend_by_ || is_winding_down_ || !(membership_.is_idle() || Clock::now() > *suspend_by_)) {
    return;
  }
  timeline_.outcome = JobOutcome::Suspended;
  timeline_.reason = suspend_reason_;
  is_winding_down_ = true;
  for (auto& [id, seat] : seats_) {
    if (membership_.is_idle()) {
      end(id, suspend_reason_);
    } else {
      [[maybe_unused]] const Status killed = launcher_.signal(id, SIGKILL);
    }
  }
  known_step_ = snapshots_.newest().value_or(ResumePoint{}).step;
  snapshots_.flush();
}

void Conductor::snapshot_now() {
  if (const auto leader = worker_at(0); leader && seats_.contains(*leader)) {
    wire::FromConductor message;
    message.mutable_snapshot_now();
    send(seats_.at(*leader), message);
  }
}

int Conductor::workers_training() const {
  const auto found =
      std::ranges::find(timeline_.generations, entered_generation_, &GenerationRecord::number);
  const bool trains =
      found != timeline_.generations.end() && !is_winding_down_ && !membership_.is_idle();
  return trains ? static_cast<int>(std::ranges::count_if(
                      found->members, [&](WorkerId id) { return seats_.contains(id); }))
                : 0;
}

std::vector<WorkerId> Conductor::occupants() const {
  std::vector<WorkerId> found;
  for (const auto& [id, seat] : seats_) {
    if (!membership_.is_parked(id)) {
      found.push_back(id);
    }
  }
  return found;
}

std::optional<std::uint64_t> Conductor::snapshot_step() const {
  const auto newest = snapshots_.newest();
  return newest ? std::optional(newest->step) : std::nullopt;
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
  seat.heard = Clock::now();
  seat.record = timeline_.workers.size();
  timeline_.workers.push_back(WorkerRecord{.worker = worker, .started = now()});
  Environment environment = options_.environment;
  environment["RUBATO_CONDUCTOR"] = listener_.path();
  environment["RUBATO_WORKER"] = std::to_string(worker.value);
  environment["RUBATO_TOKEN"] = std::to_string(token_);
  environment["RUBATO_HOST"] = seat.host;
  if (events_.on_start) {
    environment = overridden(std::move(environment), events_.on_start(worker));
  }
  const Status started = launcher_.start({.worker = worker,
                                          .argv = options_.command,
                                          .environment = std::move(environment),
                                          .directory = options_.working_directory});
  if (!started) {
    seats_.erase(worker);
    fail(JobOutcome::Failed, kJobExitBadInput, started.error().message);
  }
}

// A worker that talks to us leaves by itself; one that does not yet is killed.
void Conductor::end(WorkerId worker, const std::string& reason) {
  const auto found = seats_.find(worker);
  if (found == seats_.end() || std::exchange(found->second.is_told_to_exit, true)) {
    return;
  }
  found->second.told = Clock::now();
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
  const auto found =
      std::ranges::find(timeline_.generations, generation, &GenerationRecord::number);
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
  ResumePoint resume;
  if (!generation.has_state) {
    resume = snapshots_.newest().value_or(ResumePoint{});
  }
  std::map<std::string, Descriptor> meetings;
  for (auto& [id, seat] : seats_) {
    if (seat.channel && !seat.is_told_to_exit) {
      Descriptor& meeting = meetings[seat.host];
      if (!meeting.is_open()) {
        meeting = meeting_memory();
      }
      tell(id, generation, resume, meeting.get());
    }
  }
}

// Tells one worker of a generation, with the memory of peers on its host that it has not met.
void Conductor::tell(WorkerId worker, const PublishGeneration& generation,
                     const ResumePoint& resume, int meeting) {
  Seat& seat = seats_.at(worker);
  wire::FromConductor message;
  wire::Generation& body = *message.mutable_generation();
  body.set_number(generation.number);
  body.set_is_forced(generation.is_forced);
  body.set_resume_bytes(resume.bytes);
  body.set_resume_step(resume.step);
  const bool is_member = std::ranges::count(generation.members, worker) > 0;
  std::vector<int> lent{meeting};
  std::set<WorkerId> met;
  for (const WorkerId member : generation.members) {
    const Seat& peer = seats_.at(member);
    wire::Member& added = *body.add_members();
    added.set_worker(member.value);
    added.set_host(peer.host);
    if (is_member && member != worker && peer.host == seat.host) {
      met.insert(member);
      if (!seat.met.contains(member)) {
        body.add_new_arenas(member.value);
        lent.push_back(peer.arena.get());
      }
    }
  }
  seat.met = std::move(met);
  if (resume.bytes > 0) {
    lent.push_back(resume.memory);
  }
  send(seat, message, lent);
}

bool Conductor::turn(Duration wait, std::span<const int> also) {
  std::vector<pollfd> ready{{.fd = listener_.descriptor(), .events = POLLIN, .revents = 0},
                            {.fd = launcher_.descriptor(), .events = POLLIN, .revents = 0}};
  for (const int descriptor : also) {
    ready.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  }
  for (const UnixChannel& stranger : pending_connections_) {
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
  take_connections();
  accept_hellos();
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
    log_line(stderr, "rubato: {}", problem);
  }
  find_hung();
  finish_suspending();
  timeline_.total = now();
  return !(is_winding_down_ && seats_.empty());
}

// A stopped or frozen worker holds up all others. It is killed: as long as it could wake up again
// it could write into the memory of the others.
void Conductor::find_hung() {
  const auto moment = Clock::now();
  const auto gap = moment - last_turn_;
  const bool was_asleep = gap > options_.patience / 2;
  last_turn_ = moment;
  for (auto& [id, seat] : seats_) {
    if (was_asleep) {
      // It is we who were not listening. Whoever starts may be frozen all the same.
      seat.heard = seat.channel || seat.is_cut_off ? moment : std::min(seat.heard + gap, moment);
    } else {
      kill_silent(id, seat, moment);
    }
    find_idle(id, seat, moment);
  }
}

void Conductor::kill_silent(WorkerId worker, Seat& seat, Clock::time_point moment) {
  const bool is_starting = !seat.channel && !seat.is_cut_off;
  if (is_starting && (seat.is_finished || seat.is_told_to_exit)) {
    return;  // It has hung up for good, and `find_idle` sees to it.
  }
  Duration patience = is_starting ? options_.start_patience : options_.patience;
  if (seat.is_cut_off) {
    // It can be told of no generation, and the others would wait for it.
    patience = options_.heartbeat;
  }
  if (moment - seat.heard <= patience) {
    return;
  }
  seat.heard = moment;
  seat.is_overdue = is_starting;
  seat.verdict = fmt::format("{} for {:.3g} s",
                             is_starting       ? "no hello since its start"
                             : seat.is_cut_off ? "alive but disconnected"
                                               : "no heartbeat",
                             to_seconds(patience));
  if (is_starting) {
    log_line(stderr, "rubato: worker {}: {}; it is replaced", worker.value, seat.verdict);
  }
  [[maybe_unused]] const Status killed = launcher_.signal(worker, SIGKILL);
}

// The job must not wait for workers that have no part in it any more.
void Conductor::find_idle(WorkerId worker, Seat& seat, Clock::time_point moment) {
  const bool is_over = finished_generation_.has_value() && !seat.is_finished &&
                       moment - finished_ > options_.patience;
  if (is_over && !seat.is_told_to_exit) {
    end(worker, "the job is finished");
  } else if (seat.is_told_to_exit && moment - seat.told > options_.exit_patience) {
    seat.told = moment;
    [[maybe_unused]] const Status killed = launcher_.signal(worker, SIGKILL);
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

void Conductor::stop(const std::string& reason) {
  fail(JobOutcome::Failed, kJobExitFailed, reason);
}

void Conductor::wind_down() {
  is_winding_down_ = true;
  for (auto& [id, seat] : seats_) {
    [[maybe_unused]] const Status killed = launcher_.signal(id, SIGKILL);
  }
}

}  // namespace rubato
