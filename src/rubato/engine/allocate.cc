#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "rubato/base/check.h"
#include "rubato/engine/state.h"

namespace rubato {
namespace {

/// A job whose workers change at this round.
struct Change {
  JobState* job = nullptr;
  PoolId pool{};
  int workers = 0;
};

// Every job whose count or pool differs from what it has; stops are marked by zero workers.
std::vector<Change> changes_of(EngineState& state, const Decision& decision) {
  std::vector<Change> changes;
  std::vector<JobId> kept;
  for (const Target& target : decision.targets) {
    JobState& job = state.jobs.at(target.job);
    kept.push_back(target.job);
    const bool same =
        job.share == target.workers && (target.workers == 0 || job.pool() == target.pool);
    if (!same) {
      changes.push_back(Change{.job = &job, .pool = target.pool, .workers = target.workers});
    }
  }
  if (!decision.keep_others) {
    std::ranges::sort(kept);
    std::vector<JobId> stopped;
    state.jobs.for_each([&](const JobState& job) {
      if (job.share > 0 && !std::ranges::binary_search(kept, job.id())) {
        stopped.push_back(job.id());
      }
    });
    for (const JobId id : stopped) {
      changes.push_back(Change{.job = &state.jobs.at(id)});
    }
  }
  return changes;
}

// Stops, then shrinks, then the largest growths: room is made before it is needed, and large jobs
// find whole nodes before small ones break them up.
void sort_for_placing(std::vector<Change>& changes) {
  const auto rank = [](const Change& change) {
    const bool grows = change.workers > change.job->share || change.pool != change.job->pool();
    return std::tuple(change.workers == 0 ? 0 : grows ? 2 : 1, -change.workers, change.job->id());
  };
  std::ranges::sort(changes, {}, rank);
}

Duration pause_of(EngineState& state, const JobState& job, const ShareChange& change,
                  ArtifactCharge charge, bool restarts) {
  switch (state.costs.accounting()) {
    case Accounting::None:
      return Duration{};
    case Accounting::Physical:
      return state.costs.physical(job.job, change);
    case Accounting::Artifact:
      break;
  }
  const bool starts = change.from == 0;
  if (charge == ArtifactCharge::Free || (charge == ArtifactCharge::OnStart && !starts)) {
    return Duration{};
  }
  const bool known = state.memory.use(job.placement);
  return state.costs.artifact(job.share, known, restarts);
}

// Puts a job on its new GPUs in the books; the command follows once its pause is known.
ShareChange take_gpus(EngineState& state, JobState& job, const Placement& placement) {
  const ShareChange change{.from = job.share,
                           .to = placement.gpus(),
                           .moved = job.share > 0 && placement != job.placement};
  job.usage.advance(state.now, job.share);
  if (job.share > 0) {
    state.used[job.pool().value] -= job.share;
    change.from == change.to ? ++job.migrations : ++job.resizes;
  } else if (job.first_start == kNever) {
    job.first_start = state.now;
  } else {
    ++job.restarts;
  }
  job.placement = placement;
  job.share = change.to;
  job.reason = Reason::None;
  state.used[job.pool().value] += job.share;
  return change;
}

// Sets the job going on its GPUs after the pause.
void go(EngineState& state, JobState& job, Duration pause, Commands& commands) {
  const double speed = job.speed_factor * state.speeds.speed(job.speed, job.pool(), job.share,
                                                             state.topology.span_of(job.placement));
  job.progress.change(state.now, speed, pause);
  commands.emplace_back(Run{.job = job.id(), .placement = job.placement, .pause = pause});
}

// Jobs that may be moved out of another's way: those that promised nothing, and those whose plan
// would survive it. Sorted, as the placer wants them.
std::vector<JobId> movable_jobs(const EngineState& state, PoolId pool) {
  std::vector<JobId> movable;
  state.jobs.for_each([&](const JobState& job) {
    if (job.share == 0 || job.pool() != pool) {
      return;
    }
    const Duration pause = state.costs.physical(
        job.job, ShareChange{.from = job.share, .to = job.share, .moved = true});
    const Instant finish = later(job.progress.finish(job.job.work), pause);
    if (job.promised == kNever || finish <= job.promised) {
      movable.push_back(job.id());
    }
  });
  return movable;
}

struct Moved {
  JobState* job = nullptr;
  ShareChange change{};
};

// Places one starting, growing or shrinking job, moving others together first if closeness pays.
void place_one(EngineState& state, Placer& placer, const Change& change,
               std::vector<Moved>& moved) {
  JobState& job = *change.job;
  const PlaceRequest request{
      .job = job.id(),
      .pool = change.pool,
      .workers = change.workers,
      .needs_closeness = state.speeds.depends_on_span(job.speed, change.pool)};
  if (request.needs_closeness && change.workers > job.share) {
    for (const Move& move : placer.make_room(request, movable_jobs(state, change.pool))) {
      JobState& other = state.jobs.at(move.job);
      moved.push_back(Moved{.job = &other, .change = take_gpus(state, other, move.to)});
    }
  }
  const auto placement = placer.place(request);
  RUBATO_CHECK(placement.has_value());
  moved.push_back(Moved{.job = &job, .change = take_gpus(state, job, *placement)});
}

// Under the artifact's accounting unchanged jobs stop as well; walks all running jobs.
void stall_others(EngineState& state, bool restarts, const std::unordered_set<JobId>& changed,
                  Commands& commands) {
  std::vector<JobId> running;
  state.jobs.for_each([&](const JobState& job) {
    if (job.share > 0 && !changed.contains(job.id())) {
      running.push_back(job.id());
    }
  });
  for (const JobId id : running) {
    JobState& job = state.jobs.at(id);
    const bool known = state.memory.use(job.placement);
    const Duration pause = state.costs.artifact(job.share, known, restarts);
    job.progress.change(state.now, job.progress.speed, pause);
    commands.emplace_back(Stall{.job = id, .pause = pause});
  }
}

}  // namespace

void allocate(EngineState& state, Placer& placer, const Decision& decision, ArtifactCharge charge,
              Commands& commands) {
  ++state.rounds;
  const bool is_artifact = state.costs.accounting() == Accounting::Artifact;
  const bool restarts = is_artifact && state.memory.restarts();
  std::vector<Change> changes = changes_of(state, decision);
  sort_for_placing(changes);
  std::vector<Moved> moved;
  for (const Change& change : changes) {
    if (change.workers == 0) {
      suspend(state, placer, *change.job, commands);
    } else {
      place_one(state, placer, change, moved);
    }
  }
  // A job may be moved and then resized in one round; it pays once, for the whole change.
  std::unordered_set<JobId> done;
  for (const Moved& each : moved) {
    if (!done.insert(each.job->id()).second) {
      continue;
    }
    ShareChange whole = each.change;
    whole.to = each.job->share;
    go(state, *each.job, pause_of(state, *each.job, whole, charge, restarts), commands);
  }
  if (is_artifact && charge == ArtifactCharge::EveryRound) {
    stall_others(state, restarts, done, commands);
  }
  state.memory.end_round();
}

}  // namespace rubato
