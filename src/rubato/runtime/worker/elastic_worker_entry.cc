// How a worker gets into a generation: its members meet, agree on the highest step, and whoever
// stands elsewhere is handed the state.
#include <algorithm>
#include <array>
#include <utility>

#include "rubato/runtime/worker/elapsed.h"
#include "rubato/runtime/worker/elastic_worker.h"
#include "rubato/runtime/worker/handover.h"

namespace rubato {
namespace {

// The part of the state that all need before the rest.
struct StateHead {
  DataCursor cursor{};
  std::uint64_t batch = 0;
  std::uint64_t rest_bytes = 0;
};

std::span<std::byte> bytes_of(StateHead& head) {
  return std::as_writable_bytes(std::span(&head, 1));
}

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

}  // namespace

// Enters the newest generation, however many fail on the way. False: leave for good.
Result<bool> ElasticWorker::enter() {
  while (true) {
    const auto next = inbox_.wait(generation_, broken_);
    if (const auto* end = std::get_if<InboxEnd>(&next)) {
      if (*end == InboxEnd::Exit) {
        return false;
      }
      return Error{.code = ErrorCode::Io, .message = "the conductor of this job is gone"};
    }
    const auto& built = std::get<BuiltGroup>(next);
    generation_ = built.number;
    if (built.communicator == nullptr) {
      if (Status parked = park(built); !parked) {
        return parked.error();
      }
      continue;
    }
    if (!inbox_.begin_entering(built)) {
      continue;
    }
    if (Status entered = try_entering(built); !entered) {
      if (entered.error().code != ErrorCode::Io) {
        return entered.error();
      }
      if (!inbox_.has_newer_than(built.number)) {
        say_broken(built.number, entered.error().message, true);
      }
      inbox_.leave();
      continue;
    }
    return true;
  }
}

// The newest generation is without this worker.
Status ElasticWorker::park(const BuiltGroup& built) {
  if (built.is_last && has_state_ && rank_ == 0) {
    if (Status written = write_snapshot(); !written) {
      return written;
    }
  }
  last_commit_ = {};  // Not to train is no pause for one who is not meant to.
  wire::FromWorker message;
  message.mutable_parked()->set_generation(built.number);
  message.mutable_parked()->set_step(cursor_.step);
  link_->send(message);
  return ok_status();
}

Status ElasticWorker::try_entering(const BuiltGroup& built) {
  if (Status agreed = agree(*built.communicator, built); !agreed) {
    return agreed.error();
  }
  if (!inbox_.begin_training(built)) {
    return Error{.code = ErrorCode::Io, .message = "a newer generation was forced"};
  }
  group_ = built.communicator;
  is_new_leader_ = group_->rank() == 0 && rank_ != 0;
  rank_ = group_->rank();
  is_first_step_ = true;
  pulse_.stand_at(cursor_.step, static_cast<std::uint32_t>(cursor_.epoch), setup_.cut.batch);
  wire::FromWorker message;
  wire::Entered& entered = *message.mutable_entered();
  entered.set_generation(built.number);
  entered.set_step(cursor_.step);
  const bool has_trained = last_commit_ != Clock::time_point{};
  entered.set_pause_us(has_trained ? static_cast<std::int64_t>(seconds_since(last_commit_) * 1e6)
                                   : 0);
  entered.set_received_bytes(std::exchange(received_bytes_, 0));
  entered.set_is_source(std::exchange(was_source_, false));
  link_->send(message);
  return ok_status();
}

Status ElasticWorker::agree(Communicator& group, const BuiltGroup& built) {
  std::array<double, kNoteLength> note{};
  note[kHasState] = has_state_ ? 1 : 0;
  note[kStep] = static_cast<double>(cursor_.step);
  note[kHash] = has_state_ ? hash_to_compare() : 0;
  ReduceReport report;
  if (Status met = group.reduce({.note = note}, report); !met) {
    return met;
  }
  if (!has_one_state(report.notes)) {
    return parameters_differ(cursor_.step);
  }
  const Handover handover = handover_among(
      report.notes, built.snapshot_bytes > 0 ? std::optional(built.snapshot_step) : std::nullopt);
  if (handover.is_fresh && group.rank() == 0) {
    if (Status resumed = resume(built); !resumed) {
      return resumed;
    }
  }
  return handover.is_needed ? hand_over(group, handover) : ok_status();
}

Status ElasticWorker::hand_over(Communicator& group, const Handover& handover) {
  const int source = handover.source;
  const bool gives = group.rank() == source;
  StateHead head{.cursor = cursor_, .batch = setup_.cut.batch};
  std::string rest;
  if (gives) {
    auto saved = state_.save();
    if (!saved) {
      return saved.error();
    }
    rest = std::move(*saved);
    head.rest_bytes = rest.size();
  }
  if (Status status = group.broadcast(bytes_of(head), source); !status) {
    return status;
  }
  const bool is_behind = !gives && (!has_state_ || cursor_ != head.cursor);
  rest.resize(head.rest_bytes);
  // Someone's own state is valid but older. It is not overwritten before all of the newer one is
  // here: the source may be killed half-way.
  const std::span<std::byte> parameters = arena_->parameters();
  std::string aside;
  if (handover.is_careful) {
    aside.resize(parameters.size());
    std::ranges::copy(parameters, bytes_of(aside).begin());
  }
  const std::span<std::byte> target = handover.is_careful ? bytes_of(aside) : parameters;
  if (Status status = group.broadcast(target, source); !status) {
    return status;
  }
  if (Status status = group.broadcast(bytes_of(rest), source); !status) {
    return status;
  }
  was_source_ = gives;
  if (!is_behind) {
    return ok_status();
  }
  if (handover.is_careful) {
    std::ranges::copy(target, parameters.begin());
  }
  if (Status loaded = state_.load(rest); !loaded) {
    return loaded;
  }
  cursor_ = head.cursor;
  setup_.cut.batch = head.batch;
  has_state_ = true;
  received_bytes_ = static_cast<std::int64_t>(arena_->parameters().size() + rest.size());
  return ok_status();
}

}  // namespace rubato
