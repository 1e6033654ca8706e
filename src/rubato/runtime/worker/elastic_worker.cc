#include "rubato/runtime/worker/elastic_worker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rubato/runtime/machine/kept_memory.h"
#include "rubato/runtime/shared_memory/shm_communicator.h"
#include "rubato/runtime/worker/content_hash.h"
#include "rubato/runtime/worker/elapsed.h"
#include "rubato/runtime/worker/handover.h"

namespace rubato {
namespace {

// To begin again would not help: the workers do different things.
Error unlike(const Error& error) {
  return Error{.code = error.code,
               .message = fmt::format("the workers diverged, for instance because one "
                                      "ends its training before the others: {}",
                                      error.message)};
}

}  // namespace

ElasticWorker::ElasticWorker(WorkerSetup setup, std::shared_ptr<Arena> arena, TrainingState& state)
    : setup_(std::move(setup)), arena_(std::move(arena)), state_(state) {}

ElasticWorker::~ElasticWorker() { inbox_.end(InboxEnd::Exit); }

Result<std::unique_ptr<ElasticWorker>> ElasticWorker::join(WorkerSetup setup,
                                                           TrainingState& state) {
  if (Status status = check_cut(setup.cut); !status) {
    return status.error();
  }
  keep_freed_memory();
  auto arena = Arena::create(setup.layout);
  if (!arena) {
    return arena.error();
  }
  std::unique_ptr<ElasticWorker> worker(new ElasticWorker(  // NOLINT: the constructor is private
      std::move(setup), std::make_shared<Arena>(std::move(*arena)), state));
  ElasticWorker& self = *worker;
  const WorkerAddress& address = self.setup_.address;
  if (address.socket.empty()) {
    return worker;
  }
  auto link = ConductorLink::open({.socket = address.socket,
                                   .worker = address.worker,
                                   .token = address.token,
                                   .host = address.host,
                                   .arena = self.arena_->descriptor(),
                                   .parameter_bytes = self.setup_.layout.parameter_bytes,
                                   .floats = self.setup_.layout.floats},
                                  self.inbox_, self.pulse_);
  if (!link) {
    return link.error();
  }
  self.link_ = std::move(*link);
  self.seed_ = self.link_->welcome().seed();
  self.epoch_on_joining_ = self.link_->welcome().epoch();
  self.builder_ = std::make_unique<GroupBuilder>(
      BuilderSetup{.worker = address.worker,
                   .arena = self.arena_,
                   .join_remote = self.setup_.join_remote,
                   .cpus = static_cast<int>(std::thread::hardware_concurrency()),
                   .on_failure =
                       [&self](std::uint64_t generation, const Error& error) {
                         if (error.code == ErrorCode::Io) {
                           self.say_broken(generation, error.message, true);
                         } else {
                           self.refuse(error.message);  // The next generation would fail as well.
                         }
                       }},
      self.inbox_, *self.link_);
  return worker;
}

void ElasticWorker::warm() {
  if (link_ != nullptr) {
    wire::FromWorker message;
    message.mutable_warm();
    link_->send(message);
  }
}

void ElasticWorker::refuse(const std::string& reason) {
  if (link_ != nullptr) {
    wire::FromWorker message;
    message.mutable_refused()->set_reason(reason);
    link_->send(message);
  }
}

void ElasticWorker::say_broken(std::uint64_t generation, const std::string& cause,
                               bool is_entering) {
  wire::FromWorker message;
  message.mutable_broken()->set_generation(generation);
  message.mutable_broken()->set_cause(cause);
  message.mutable_broken()->set_is_entering(is_entering);
  link_->send(message);
}

Result<StepTask> ElasticWorker::begin() {
  if (link_ != nullptr && inbox_.ended() == InboxEnd::ConductorLost) {
    return Error{.code = ErrorCode::Io, .message = "the conductor of this job is gone"};
  }
  if (group_ == nullptr) {
    if (link_ == nullptr) {
      if (Status alone = train_alone(); !alone) {
        return alone.error();
      }
    } else {
      const auto entered = enter();
      if (!entered) {
        return entered.error();
      }
      if (!*entered) {
        return StepTask{.kind = StepKind::Leave};
      }
    }
  }
  const StepRange range = step_range(cursor_, setup_.cut);
  split_.split(range, {.ranks = group_->size(), .shards = shards()});
  step_began_ = Clock::now();
  const std::size_t first = split_.first_shard(rank_);
  return StepTask{.generation = generation_,
                  .rank = rank_,
                  .size = group_->size(),
                  .cursor = cursor_,
                  .samples = range.samples(),
                  .shards = split_.shards().subspan(first, split_.shard_count(rank_)),
                  .first_shard = first};
}

// One gradient tells nothing of its noise; the difference of two does.
int ElasticWorker::shards() const {
  const bool is_cut = setup_.measures_noise && group_->size() == 1 && setup_.layout.slots > 1;
  return setup_.shards == 0 && is_cut ? 2 : setup_.shards;
}

Status ElasticWorker::train_alone() {
  const Descriptor meeting(::memfd_create("rubato-meeting", MFD_CLOEXEC));
  if (!meeting.is_open() || ::ftruncate(meeting.get(), kMeetingBytes) != 0) {
    return Error{.code = ErrorCode::Io, .message = "no memory for a group of one"};
  }
  auto group = join_shm_group({.meeting = meeting.get(), .arenas = {arena_}, .cpus = 1});
  if (!group) {
    return group.error();
  }
  group_ = std::move(*group);
  has_state_ = true;
  return ok_status();
}

Result<ReduceVerdict> ElasticWorker::reduce(const LocalStep& local) {
  times_ = {.compute_seconds = seconds_since(step_began_) - local.data_seconds,
            .data_seconds = local.data_seconds};
  const auto reduce_began = Clock::now();
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < split_.shard_count(rank_); ++i) {
    samples += split_.shards()[split_.first_shard(rank_) + i].samples();
  }
  const bool is_checked =
      setup_.check_every > 0 && cursor_.step % static_cast<std::uint64_t>(setup_.check_every) == 0;
  std::array<double, kNoteLength> note{};
  note[kVote] = static_cast<double>(link_ == nullptr ? 0 : inbox_.votable());
  note[kStep] = static_cast<double>(cursor_.step);
  note[kLoss] = samples == 0 ? 0 : local.loss * static_cast<double>(samples);
  note[kBatch] = static_cast<double>(rank_ == 0 ? std::exchange(proposed_batch_, 0) : 0);
  note[kSeconds] = times_.compute_seconds;
  note[kHash] = is_checked ? hash_to_compare() : 0;
  note[kTag] = local.tag;
  const Status reduced = group_->reduce({.places = split_.places(),
                                         .weights = split_.weights(),
                                         .floats = setup_.layout.floats,
                                         .wants_squares = setup_.measures_noise,
                                         .measured_floats = setup_.measured_floats,
                                         .note = note},
                                        report_);
  times_.reduce_seconds = seconds_since(reduce_began);
  if (!reduced) {
    if (reduced.error().code != ErrorCode::Io) {
      return unlike(reduced.error());
    }
    give_up_group(reduced.error().message);
    return ReduceVerdict::Redo;
  }
  if (Status same = check_parameters(); !same) {
    return same.error();
  }
  read_notes();
  return ReduceVerdict::Apply;
}

Result<ReduceVerdict> ElasticWorker::copy_from(int rank, std::string& bytes) {
  std::uint64_t size = bytes.size();
  Status copied = group_->broadcast(std::as_writable_bytes(std::span(&size, 1)), rank);
  if (copied) {
    bytes.resize(size);
    copied = group_->broadcast(std::as_writable_bytes(std::span(bytes.data(), bytes.size())), rank);
  }
  if (copied) {
    return ReduceVerdict::Apply;
  }
  if (copied.error().code != ErrorCode::Io) {
    return unlike(copied.error());
  }
  give_up_group(copied.error().message);
  return ReduceVerdict::Redo;
}

std::vector<double> ElasticWorker::tags() const {
  std::vector<double> found;
  for (std::size_t at = kTag; at < report_.notes.size(); at += kNoteLength) {
    found.push_back(report_.notes[at]);
  }
  return found;
}

// The group broke under us: some may have committed the step. Only a generation that was forced for
// that reason has all of them; one that was planned before may not.
void ElasticWorker::give_up_group(const std::string& cause) {
  if (link_ != nullptr && !inbox_.has_forced_beyond(generation_) && !inbox_.ended()) {
    say_broken(generation_, cause, false);
  }
  broken_ = generation_;
  group_.reset();
  inbox_.leave();
}

bool ElasticWorker::all_vote_for(std::uint64_t generation) const {
  for (std::size_t at = kVote; at < report_.notes.size(); at += kNoteLength) {
    if (report_.notes[at] != static_cast<double>(generation)) {
      return false;
    }
  }
  return true;
}

// The parameters of all ranks must be the same before a step, bit by bit.
Status ElasticWorker::check_parameters() const {
  for (std::size_t at = 0; at < report_.notes.size(); at += kNoteLength) {
    const bool same_step = report_.notes[at + kStep] == report_.notes[kStep];
    RUBATO_CHECK(same_step);  // Highest step wins on entering, and all take the same steps since.
    if (report_.notes[at + kHash] != report_.notes[kHash]) {
      return parameters_differ(cursor_.step);
    }
  }
  return ok_status();
}

void ElasticWorker::read_notes() {
  double loss = 0;
  for (std::size_t at = 0; at < report_.notes.size(); at += kNoteLength) {
    loss += report_.notes[at + kLoss];
  }
  const StepRange range = step_range(cursor_, setup_.cut);
  mean_loss_ = loss / static_cast<double>(range.samples());
  const auto vote = static_cast<std::uint64_t>(report_.notes[kVote]);
  is_switching_ = vote > generation_ && all_vote_for(vote);
}

Status ElasticWorker::commit() {
  const StepRange range = step_range(cursor_, setup_.cut);
  cursor_ = advance(cursor_, setup_.cut);
  if (const auto batch = static_cast<std::uint64_t>(report_.notes[kBatch]); batch > 0) {
    setup_.cut.batch = batch;
  }
  const auto moment = Clock::now();
  const double total = std::chrono::duration<double>(moment - last_commit_).count();
  last_commit_ = moment;
  pulse_.stand_at(cursor_.step, static_cast<std::uint32_t>(cursor_.epoch), setup_.cut.batch);
  pulse_.count_step(times_, range.samples(), mean_loss_);
  if (link_ == nullptr) {
    return ok_status();
  }
  if (rank_ == 0) {
    observer_.observe({.generation = generation_,
                       .batch = range.samples(),
                       .total_seconds = total,
                       .times = times_,
                       .notes = report_.notes,
                       .split = split_});
    // A conductor that is stopped must not stop the training: the observer keeps what it has seen.
    if (link_->has_room()) {
      for (const wire::FromWorker& message : observer_.take_messages(is_switching_)) {
        link_->send(message);
      }
    }
  }
  if (std::exchange(is_first_step_, false)) {
    wire::FromWorker message;
    message.mutable_first_step()->set_generation(generation_);
    message.mutable_first_step()->set_step(cursor_.step);
    link_->send(message);
  }
  const auto& milestones = link_->welcome().milestones();
  if (rank_ == 0 && std::binary_search(milestones.begin(), milestones.end(), cursor_.step)) {
    wire::FromWorker message;
    message.mutable_reached()->set_step(cursor_.step);
    link_->send(message);
  }
  const auto every = link_->welcome().snapshot_steps();
  // The leader before may have been lost before it could write the one that was due.
  const bool is_due =
      every > 0 && (cursor_.step % every == 0 || std::exchange(is_new_leader_, false));
  if (rank_ == 0 && (link_->take_snapshot_request() || is_due)) {
    if (Status written = write_snapshot(); !written) {
      return written;
    }
  }
  if (std::exchange(is_switching_, false)) {
    group_.reset();
    inbox_.leave();
  }
  return ok_status();
}

Status ElasticWorker::finish() {
  if (link_ == nullptr) {
    return ok_status();
  }
  if (is_leader()) {
    if (Status written = write_snapshot(); !written) {
      return written;
    }
  }
  // A worker that missed the last commit is handed it here, so that all go on with the same result.
  while (true) {
    if (group_ == nullptr) {
      const auto entered = enter();
      if (!entered) {
        return entered.error();
      }
      if (!*entered) {
        return ok_status();
      }
    }
    std::array<double, kNoteLength> note{};
    note[kStep] = static_cast<double>(cursor_.step);
    note[kHash] = hash_to_compare();
    const Status met = group_->reduce({.note = note}, report_);
    if (met) {
      if (Status same = check_parameters(); !same) {
        return same;
      }
      break;
    }
    if (met.error().code != ErrorCode::Io) {
      return unlike(met.error());
    }
    give_up_group("while finishing");
  }
  wire::FromWorker message;
  message.mutable_finished()->set_step(cursor_.step);
  message.mutable_finished()->set_parameter_hash(parameter_hash());
  message.mutable_finished()->set_loss(mean_loss_);
  message.mutable_finished()->set_generation(generation_);
  link_->send(message);
  return ok_status();
}

// Zero if parameters are not compared. Doubles hold 53 bits exactly.
double ElasticWorker::hash_to_compare() const {
  return setup_.check_every > 0 ? static_cast<double>(parameter_hash() >> 11U) : 0;
}

std::uint64_t ElasticWorker::parameter_hash() const { return content_hash(arena_->parameters()); }

}  // namespace rubato
