#include "rubato/policy/rounds/gang_policy.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"

namespace rubato::policy::rounds {

void GangPolicy::rebuild(const View& view) {
  members_.clear();
  used_.assign(view.topology.pools().size(), 0);
  waiting_ = 0;
  view.jobs.for_each([&](const JobState& job) {
    if (!job.admitted) {
      return;
    }
    Member& member = members_[job.id()];
    member.choices = gangs_by_speed(job, view);
    RUBATO_CHECK(!member.choices.empty());
    member.gang = member.choices.front();
    ++waiting_;
    // Who ran when the state was saved may have been stopped by the very event to be handled.
    if (loaded_running_ && loaded_running_->contains(job.id())) {
      seat(member, loaded_running_->at(job.id()));
      set_running(member, true);
    } else if (!loaded_running_ && job.share > 0) {
      seat(member, job.pool());
      set_running(member, true);
    }
    joins(job, view);
  });
  loaded_running_.reset();
  is_stale_ = false;
}

// Makes the job's choice in this pool its gang.
void GangPolicy::seat(Member& member, PoolId pool) {
  const auto found = std::ranges::find(member.choices, pool, &Gang::pool);
  RUBATO_CHECK(found != member.choices.end());
  member.gang = *found;
}

void GangPolicy::set_running(Member& member, bool runs) {
  RUBATO_CHECK(member.runs != runs);
  member.runs = runs;
  used_[member.gang.pool.value] += runs ? member.gang.workers : -member.gang.workers;
  waiting_ = runs ? waiting_ - 1 : waiting_ + 1;
  if (!runs) {
    member.gang = member.choices.front();
  }
}

Verdict GangPolicy::judge(const JobState& job, const View& view) {
  std::vector<Gang> choices = gangs_by_speed(job, view);
  if (choices.empty()) {
    return Verdict{
        .job = job.id(), .kind = VerdictKind::Refuse, .reason = why_unrunnable(job, view)};
  }
  const Gang best = choices.front();
  members_[job.id()] = Member{.choices = std::move(choices), .gang = best};
  ++waiting_;
  joins(job, view);
  return Verdict{.job = job.id(), .kind = VerdictKind::Admit};
}

void GangPolicy::remove(const Completion& completion) {
  leaves(completion.job, completion.outcome);
  const auto found = members_.find(completion.job);
  if (found == members_.end()) {
    return;
  }
  if (found->second.runs) {
    set_running(found->second, false);
  }
  --waiting_;
  members_.erase(found);
}

// A job that a fault stopped waits again; true if this one was.
bool GangPolicy::was_stopped(const JobState& job, const View& view) {
  const auto found = members_.find(job.id());
  if (found == members_.end() || !found->second.runs || job.share > 0) {
    return false;
  }
  set_running(found->second, false);
  loses_workers(job, view);
  return true;
}

const Gang* GangPolicy::room_for(JobId job, const View& view) const {
  const auto found = std::ranges::find_if(choices(job), [&](const Gang& gang) {
    return gang.workers <= view.capacity[gang.pool.value] - gpus_used(gang.pool);
  });
  return found == choices(job).end() ? nullptr : &*found;
}

void GangPolicy::start(JobId job, const Gang& where, Decision& decision) {
  Member& member = members_.at(job);
  seat(member, where.pool);
  set_running(member, true);
  decision.targets.push_back(
      Target{.job = job, .pool = member.gang.pool, .workers = member.gang.workers});
}

void GangPolicy::stop(JobId job, Decision& decision) {
  Member& member = members_.at(job);
  const PoolId pool = member.gang.pool;
  set_running(member, false);
  decision.targets.push_back(Target{.job = job, .pool = pool, .workers = 0});
}

void GangPolicy::move(JobId job, const Gang& where, Decision& decision) {
  set_running(members_.at(job), false);
  start(job, where, decision);
}

Decision GangPolicy::on(const Event& event, const View& view) {
  if (is_stale_) {
    rebuild(view);
  }
  Decision decision;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    remove(*completion);
  } else if (std::holds_alternative<NodeChange>(event)) {
    view.jobs.for_each([&](const JobState& job) { was_stopped(job, view); });
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    const JobState* job = view.jobs.find(report->job);
    if (job != nullptr && members_.contains(job->id()) && !was_stopped(*job, view)) {
      measured(*job, view);
    }
  } else if (std::holds_alternative<Tick>(event)) {
    timer_.held(view.now);
    decision.is_round = true;
    hold_round(view, decision);
    decision.wake_at = std::max(next_change(view), timer_.next(view.now, view.slot));
    return decision;
  }
  const Instant change = needs_round() ? view.now : next_change(view);
  decision.wake_at = std::max(change, timer_.next(view.now, view.slot));
  return decision;
}

std::string GangPolicy::save() const {
  std::string state;
  append_line(state, "round", {timer_.last().time_since_epoch().count()});
  std::map<JobId, PoolId> running = loaded_running_.value_or(std::map<JobId, PoolId>{});
  for (const auto& [id, member] : members_) {
    if (member.runs) {
      running[id] = member.gang.pool;
    }
  }
  for (const auto& [id, pool] : running) {
    append_line(state, "runs",
                {static_cast<std::int64_t>(id.value), static_cast<std::int64_t>(pool.value)});
  }
  return state;
}

Status GangPolicy::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  clear();
  members_.clear();
  timer_ = RoundTimer{};
  is_stale_ = true;
  loaded_running_.emplace();
  for (const SavedLine& line : *lines) {
    if (line.word == "round" && line.numbers.size() == 1) {
      timer_.held(Instant{Duration{line.numbers.front()}});
    } else if (line.word == "runs" && line.numbers.size() == 2) {
      loaded_running_->insert_or_assign(JobId{static_cast<std::uint64_t>(line.numbers[0])},
                                        PoolId{static_cast<std::uint64_t>(line.numbers[1])});
    } else if (Status status = restore(line); !status) {
      return status;
    }
  }
  return ok_status();
}

}  // namespace rubato::policy::rounds
