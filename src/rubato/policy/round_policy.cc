#include "rubato/policy/round_policy.h"

#include <algorithm>
#include <tuple>

#include "rubato/policy/gang.h"

namespace rubato {
namespace {

Verdict judge(const JobState& job, const View& view) {
  const Reason reason = why_unrunnable(job, view);
  return Verdict{.job = job.id(),
                 .kind = reason == Reason::None ? VerdictKind::Admit : VerdictKind::Refuse,
                 .reason = reason};
}

std::vector<Seat> seats_of(const View& view) {
  std::vector<Seat> seats;
  seats.reserve(view.jobs.size());
  view.jobs.for_each([&](const JobState& job) {
    if (job.admitted) {
      seats.push_back(Seat{.job = &job});
    }
  });
  std::ranges::sort(seats, {}, [](const Seat& seat) {
    return std::tuple(seat.job->job.arrival, seat.job->id());
  });
  return seats;
}

// Only what changes: an unchanged job is not named, so that it costs nothing.
std::vector<Target> targets_of(std::span<const Seat> seats) {
  std::vector<Target> targets;
  for (const Seat& seat : seats) {
    const bool stays =
        seat.workers == seat.job->share && (seat.workers == 0 || seat.pool == seat.job->pool());
    if (!stays) {
      targets.push_back(Target{.job = seat.job->id(), .pool = seat.pool, .workers = seat.workers});
    }
  }
  return targets;
}

}  // namespace

Decision RoundPolicy::on(const Event& event, const View& view) {
  Decision decision;
  if (std::holds_alternative<Tick>(event)) {
    std::vector<Seat> seats = seats_of(view);
    hold_round(view, seats);
    timer_.held(view.now);
    decision.is_round = true;
    decision.targets = targets_of(seats);
    const Instant change = next_change();
    decision.wake_at =
        change == kNever ? kNever : std::max(change, timer_.next(view.now, view.slot));
    return decision;
  }
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    leaves(completion->job);
  } else if (const auto* report = std::get_if<Measured>(&event)) {
    const JobState* job = view.jobs.find(report->job);
    if (job != nullptr && job->admitted) {
      measured(*job, view);
    }
  }
  decision.wake_at = timer_.next(view.now, view.slot);
  return decision;
}

std::string RoundPolicy::save() const {
  std::string state;
  append_line(state, "round", {timer_.last().time_since_epoch().count()});
  append_state(state);
  return state;
}

Status RoundPolicy::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  clear();
  timer_ = RoundTimer{};
  for (const SavedLine& line : *lines) {
    if (line.word == "round" && line.numbers.size() == 1) {
      timer_.held(Instant{Duration{line.numbers.front()}});
    } else if (Status status = restore(line); !status) {
      return status;
    }
  }
  return ok_status();
}

}  // namespace rubato
