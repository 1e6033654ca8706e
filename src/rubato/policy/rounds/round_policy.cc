#include "rubato/policy/rounds/round_policy.h"

#include <algorithm>
#include <tuple>

#include "rubato/policy/rounds/gang.h"

namespace rubato::policy::rounds {
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
      targets.push_back(Target{
          .job = seat.job->id(), .pool = seat.pool, .workers = seat.workers, .nodes = seat.nodes});
    }
  }
  return targets;
}

}  // namespace

// When to be woken, as things stand.
Instant RoundPolicy::next_round(const View& view) const {
  const Instant change = is_due_ ? view.now : next_change(view);
  return change == kNever ? kNever : std::max(change, timer_.next(view.now, view.slot));
}

Instant RoundPolicy::after_last_round(const View& view, Duration interval) const {
  constexpr Duration kLeast = std::chrono::seconds{1};
  if (view.jobs.size() == 0) {
    return kNever;
  }
  const Instant last = timer_.last();
  return last == kNever ? view.now : later(last, std::max({interval, view.slot, kLeast}));
}

Decision RoundPolicy::on(const Event& event, const View& view) {
  Decision decision;
  if (std::holds_alternative<Tick>(event)) {
    std::vector<Seat> seats = seats_of(view);
    hold_round(view, seats);
    timer_.held(view.now);
    is_due_ = false;
    decision.is_round = true;
    decision.targets = targets_of(seats);
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    const JobState* job = view.jobs.find(report->job);
    if (job != nullptr && job->admitted) {
      is_due_ = job->share == 0 || measured(*job) || is_due_;
    }
  } else {
    is_due_ = true;
    if (const auto* arrival = std::get_if<Arrival>(&event)) {
      decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
    } else if (const auto* completion = std::get_if<Completion>(&event)) {
      leaves(completion->job);
    }
  }
  decision.wake_at = next_round(view);
  return decision;
}

std::string RoundPolicy::save() const {
  std::string state;
  append_line(state, "round", {timer_.last().time_since_epoch().count(), is_due_ ? 1 : 0});
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
  is_due_ = false;
  for (const SavedLine& line : *lines) {
    if (line.word == "round" && line.numbers.size() == 2) {
      timer_.held(Instant{Duration{line.numbers[0]}});
      is_due_ = line.numbers[1] != 0;
    } else if (Status status = restore(line); !status) {
      return status;
    }
  }
  return ok_status();
}

}  // namespace rubato::policy::rounds
