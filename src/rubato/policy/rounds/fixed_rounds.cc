#include "rubato/policy/rounds/fixed_rounds.h"

#include <map>

namespace rubato::policy::rounds {

void run_only(const std::vector<Target>& chosen, const View& view, Decision& decision) {
  std::map<JobId, const Target*> wanted;
  for (const Target& target : chosen) {
    wanted[target.job] = &target;
  }
  view.jobs.for_each([&](const JobState& job) {
    const auto found = wanted.find(job.id());
    if (found == wanted.end()) {
      if (job.share > 0) {
        decision.targets.push_back(Target{.job = job.id(), .pool = job.pool(), .workers = 0});
      }
    } else if (found->second->workers != job.share || found->second->pool != job.pool()) {
      decision.targets.push_back(*found->second);
    }
  });
}

std::vector<Gang> gangs_of(const JobState& job, const View& view) {
  std::vector<Gang> gangs;
  for (const Pool& pool : view.topology.pools()) {
    if (const auto gang = gang_in(job, pool, view); gang && job.job.requested <= pool.gpus) {
      gangs.push_back(*gang);
    }
  }
  if (gangs.empty()) {
    if (const auto gang = gang_of(job, view)) {
      gangs.push_back(*gang);
    }
  }
  return gangs;
}

// At the end of the running round, or at once if nothing runs; never without a job.
Instant FixedRounds::next_round(bool is_needed, const View& view) const {
  bool is_idle = true;
  view.jobs.for_each([&](const JobState& job) {
    is_needed = is_needed || job.admitted;
    is_idle = is_idle && job.share == 0;
  });
  return is_needed ? timer_.next(view.now, is_idle ? view.slot : round(view)) : kNever;
}

Decision FixedRounds::on(const Event& event, const View& view) {
  Decision decision;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    const JobState& job = view.jobs.at(arrival->job.id);
    const Reason reason = why_unrunnable(job, view);
    const bool runs = reason == Reason::None;
    decision.verdicts.push_back(Verdict{.job = job.id(),
                                        .kind = runs ? VerdictKind::Admit : VerdictKind::Refuse,
                                        .reason = reason});
    if (runs) {
      joins(job, view);
    }
    decision.wake_at = next_round(runs, view);
    return decision;
  }
  if (const auto* completion = std::get_if<Completion>(&event)) {
    leaves(completion->job);
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    if (const JobState* job = view.jobs.find(report->job); job != nullptr && job->admitted) {
      measured(*job, view);
    }
  } else if (std::holds_alternative<Tick>(event)) {
    const std::vector<Target> chosen = hold_round(view);
    timer_.held(view.now);
    decision.is_round = true;
    run_only(chosen, view, decision);
    // Nobody could run: only an event can change that.
    decision.wake_at = chosen.empty() ? kNever : timer_.next(view.now, round(view));
    return decision;
  }
  decision.wake_at = next_round(false, view);
  return decision;
}

std::string FixedRounds::save() const {
  std::string state;
  append_line(state, "round", {timer_.last().time_since_epoch().count()});
  return state;
}

Status FixedRounds::load(std::string_view state) {
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

}  // namespace rubato::policy::rounds
