#include "rubato/policy/afs/quantum_turns.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

namespace rubato::policy::afs {

using rounds::Seat;

void QuantumTurns::end_expired(Instant now, std::span<Seat* const> seats) {
  for (const Seat* seat : seats) {
    const JobState& job = *seat->job;
    Turn& turn = turns_.try_emplace(job.id(), Turn{.since = job.job.arrival}).first->second;
    if (turn.until <= now) {
      ++turn.taken;
      turn.since = turn.until;
      turn.until = kNever;
    }
  }
}

void QuantumTurns::share(Instant now, int gpus, std::span<Seat* const> seats,
                         std::span<Sharer> sharers) {
  end_expired(now, seats);
  std::vector<std::size_t> order(seats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const JobState& job = *seats[i]->job;
    const Turn& turn = turns_.at(job.id());
    const std::int64_t since = turn.since.time_since_epoch().count();
    const std::int64_t start = job.first_start.time_since_epoch().count();
    const std::int64_t taken = turn.taken;
    // Jobs whose quanta ended together are told apart by their turns: else the same always win.
    return options_.fewest_turns_first ? std::tuple(turn.until == kNever, taken, start)
                                       : std::tuple(turn.until == kNever, since, taken);
  });
  static_cast<void>(give_smallest(sharers, order, gpus));
  for (std::size_t i = 0; i < seats.size(); ++i) {
    Turn& turn = turns_.at(seats[i]->job->id());
    if (sharers[i].taken == 0) {
      turn.until = kNever;  // Machines went down and its GPUs with them.
    } else if (turn.until == kNever) {
      turn.until = later(now, options_.quantum);
    }
  }
}

void QuantumTurns::release(std::span<Seat* const> seats) {
  for (const Seat* seat : seats) {
    const auto found = turns_.find(seat->job->id());
    if (found != turns_.end()) {
      found->second.until = kNever;
    }
  }
}

Instant QuantumTurns::next_end() const {
  Instant first = kNever;
  for (const auto& [job, turn] : turns_) {
    first = std::min(first, turn.until);
  }
  return first;
}

int QuantumTurns::turns(JobId job) const {
  const auto found = turns_.find(job);
  return found == turns_.end() ? 0 : found->second.taken;
}

void QuantumTurns::append_to(std::string& state) const {
  for (const auto& [job, turn] : turns_) {
    append_line(state, "turn",
                {static_cast<std::int64_t>(job.value), turn.taken,
                 turn.since.time_since_epoch().count(), turn.until.time_since_epoch().count()});
  }
}

bool QuantumTurns::restore(const SavedLine& line) {
  if (line.word != "turn" || line.numbers.size() != 4) {
    return false;
  }
  turns_[JobId{static_cast<std::uint64_t>(line.numbers[0])}] =
      Turn{.taken = static_cast<int>(line.numbers[1]),
           .since = Instant{Duration{line.numbers[2]}},
           .until = Instant{Duration{line.numbers[3]}}};
  return true;
}

}  // namespace rubato::policy::afs
