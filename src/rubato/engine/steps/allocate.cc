#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "rubato/base/check.h"
#include "rubato/engine/state/state.h"
#include "rubato/engine/steps/charge.h"
#include "rubato/engine/steps/movable.h"

namespace rubato {
namespace {

/// A job whose workers are to change at this round; zero workers stop it.
struct Change {
  JobState* job = nullptr;
  PoolId pool{};
  int workers = 0;
  std::vector<NodeShare> nodes{};  // Where the policy wants them; empty if it does not care.

  [[nodiscard]] bool leaves_pool() const { return job->share > 0 && job->pool() != pool; }
  [[nodiscard]] bool grows() const { return workers > job->share || leaves_pool(); }
  /// Its GPUs must be free before others are placed: two jobs may change places.
  [[nodiscard]] bool lets_go_first() const {
    return leaves_pool() || (job->share > 0 && !nodes.empty());
  }
};

/// What a job had when the round began.
struct Before {
  JobState* job = nullptr;
  int share = 0;
  Placement placement{};
};

/// One round while it is carried out.
struct Round {
  EngineState& state;
  Placer& placer;
  std::vector<Before> before{};  // In the order in which jobs were first touched.
  std::set<JobId> touched{};
  std::map<PoolId, std::vector<JobId>> movable{};  // Per pool, found when first asked for.
  std::set<JobId> evicted{};  // Lost their GPUs to their owner and have no others yet.
};

std::vector<NodeShare> sorted(std::vector<NodeShare> nodes) {
  std::ranges::sort(nodes);
  return nodes;
}

// Running jobs that the decision does not name.
std::vector<JobId> others(const EngineState& state, const Decision& decision) {
  std::vector<JobId> named;
  for (const Target& target : decision.targets) {
    named.push_back(target.job);
  }
  std::ranges::sort(named);
  std::vector<JobId> found;
  state.jobs.for_each([&](const JobState& job) {
    if (job.share > 0 && !std::ranges::binary_search(named, job.id())) {
      found.push_back(job.id());
    }
  });
  return found;
}

// True if the job has just the workers the target asks for, where it asks for them.
bool is_served(const EngineState& state, const JobState& job, const Target& target) {
  if (job.share != target.workers || (target.workers > 0 && job.pool() != target.pool)) {
    return false;
  }
  return target.nodes.empty() || sorted(target.nodes) == state.topology.nodes_of(job.placement);
}

// Every job whose count, pool or nodes differ from what it has. Stops come first, then shrinks,
// then jobs with a wish where to be, then the largest growths: room is made before it is needed,
// and large jobs find whole nodes before small ones break them up.
std::vector<Change> changes_of(EngineState& state, const Decision& decision) {
  std::vector<Change> changes;
  for (const Target& target : decision.targets) {
    JobState* job = state.jobs.find(target.job);
    if (job == nullptr) {
      continue;  // Refused by this very decision, and stopped for good measure.
    }
    if (!is_served(state, *job, target)) {
      changes.push_back(Change{.job = job,
                               .pool = target.pool,
                               .workers = target.workers,
                               .nodes = sorted(target.nodes)});
    }
  }
  if (!decision.keep_others) {
    for (const JobId id : others(state, decision)) {
      changes.push_back(Change{.job = &state.jobs.at(id)});
    }
  }
  std::ranges::sort(changes, {}, [](const Change& change) {
    const int rank = change.workers == 0 ? 0 : !change.nodes.empty() ? 2 : change.grows() ? 3 : 1;
    return std::tuple(rank, -change.workers, change.job->id());
  });
  return changes;
}

// Puts a job on its new GPUs in the books; the command follows once the round is complete.
void take_gpus(Round& round, JobState& job, const Placement& placement) {
  if (round.touched.insert(job.id()).second) {
    round.before.push_back({.job = &job, .share = job.share, .placement = job.placement});
  }
  if (job.share > 0) {
    round.state.used[job.pool().value] -= job.share;
  }
  job.placement = placement;
  job.share = placement.gpus();
  round.state.used[job.pool().value] += job.share;
}

// Moves others together so that the request can lie close, as far as they can bear it.
void make_room(Round& round, const PlaceRequest& request) {
  const auto [movable, is_new] = round.movable.try_emplace(request.pool);
  if (is_new) {
    movable->second = movable_jobs(round.state, request.pool);
  }
  for (const Move& move : round.placer.make_room(request, movable->second)) {
    take_gpus(round, round.state.jobs.at(move.job), move.to);
  }
}

// What the placer is asked for; borrows the job's tenant.
PlaceRequest request_for(const EngineState& state, const JobState& job, PoolId pool, int workers) {
  return PlaceRequest{.job = job.id(),
                      .pool = pool,
                      .workers = workers,
                      .needs_closeness = state.speeds.depends_on_span(job.speed, pool),
                      .tenant = job.job.tenant,
                      .is_guaranteed = job.job_class != JobClass::BestEffort};
}

// The placer has refused the job: it goes on with what it has, if it has anything left.
void leave_unserved(Round& round, JobState& job, Commands& commands) {
  round.state.unserved.push_back(job.id());
  round.evicted.erase(job.id());
  if (round.placer.find(job.id()) != nullptr) {
    return;
  }
  if (job.share > 0) {
    suspend(round.state, round.placer, job, commands);
  }
  job.reason = Reason::QuotaFull;
}

// Places one starting, growing or shrinking job.
void place_one(Round& round, const Change& change, Commands& commands) {
  JobState& job = *change.job;
  PlaceRequest request = request_for(round.state, job, change.pool, change.workers);
  request.nodes = change.nodes;
  std::optional<Placement> placement;
  if (!request.nodes.empty()) {
    placement = round.placer.place(request);
    request.nodes.clear();  // A wish that cannot be met gives way to any place.
  }
  if (!placement) {
    if (request.needs_closeness && change.grows()) {
      make_room(round, request);
    }
    for (const JobId gone : round.placer.preempt(request)) {
      round.evicted.insert(gone);
    }
    placement = round.placer.place(request);
  }
  if (!placement) {
    RUBATO_CHECK(!round.placer.quotas().empty());
    leave_unserved(round, job, commands);
    return;
  }
  round.evicted.erase(job.id());
  take_gpus(round, job, *placement);
}

// Jobs that had to give way go on elsewhere: the decision hands out no more GPUs than there are.
void place_evicted(Round& round) {
  for (const JobId id : round.evicted) {
    JobState& job = round.state.jobs.at(id);
    const auto placement = round.placer.place(request_for(round.state, job, job.pool(), job.share));
    RUBATO_CHECK(placement.has_value());
    take_gpus(round, job, *placement);
  }
}

void count(JobState& job, const ShareChange& change, Instant now) {
  if (change.from > 0) {
    change.from == change.to ? ++job.migrations : ++job.resizes;
  } else if (job.first_start == kNever) {
    job.first_start = now;
  } else {
    ++job.restarts;
  }
}

// Sets a touched job going on its GPUs. It may have been moved and then resized: it pays once, for
// the whole change.
void go(EngineState& state, const Before& before, const Traits& traits, Commands& commands) {
  JobState& job = *before.job;
  const ShareChange change{.from = before.share,
                           .to = job.share,
                           .moved = before.share > 0 && before.placement != job.placement};
  // Training cannot begin before its data are there, whoever decided where it runs.
  const Instant ready = later(
      job.job.arrival, state.topology.upload_time(job.pool(), job.job.region, job.job.data_gb));
  const Duration pause =
      std::max(pause_of(state, job, change, traits.artifact_charge), ready - state.now);
  const double speed = state.speeds.speed(job.speed, job.placement);
  count(job, change, state.now);
  job.usage.advance(state.now, before.share);
  job.progress.change(state.now, job.speed_factor * speed, pause);
  job.reason = Reason::None;
  job.split = traits.adapts_batch ? best_split(state, job) : BatchSplit{};
  commands.emplace_back(
      Run{.job = job.id(), .placement = job.placement, .pause = pause, .split = job.split});
}

// Jobs that were moved to and fro and are where they were have not changed.
void forget_untouched(Round& round) {
  std::erase_if(round.before, [&](const Before& before) {
    const bool same = before.share > 0 && before.placement == before.job->placement;
    if (same) {
      round.touched.erase(before.job->id());
    }
    return same;
  });
}

}  // namespace

void allocate(EngineState& state, Placer& placer, const Decision& decision, const Traits& traits,
              Commands& commands) {
  ++state.rounds;
  const std::vector<Change> changes = changes_of(state, decision);
  Round round{.state = state, .placer = placer};
  for (const Change& change : changes) {
    if (change.workers == 0) {
      suspend(state, placer, *change.job, commands);
    } else if (change.lets_go_first()) {
      placer.release(change.job->id());
    }
  }
  for (const Change& change : changes) {
    if (change.workers > 0) {
      place_one(round, change, commands);
    }
  }
  place_evicted(round);
  forget_untouched(round);
  for (const Before& before : round.before) {
    go(state, before, traits, commands);
  }
  stall_unchanged(state, traits.artifact_charge, round.touched, commands);
  state.memory.end_round();
}

}  // namespace rubato
