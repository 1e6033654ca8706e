// Everything an engine knows between two events.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/core/job_table.h"
#include "rubato/core/topology.h"
#include "rubato/engine/state/artifact_memory.h"
#include "rubato/engine/state/command.h"
#include "rubato/engine/state/node_join.h"
#include "rubato/place/placer.h"
#include "rubato/policy/policy.h"
#include "rubato/policy/tenants/tenant_split.h"
#include "rubato/predict/resize_cost.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

struct EngineOptions {
  ResizeCostModel accounting = ResizeCostModel::Physical;
  Duration slot = std::chrono::seconds{60};
  Duration restart = kByModel;  // What a change of workers costs under physical accounting.
  bool grid = false;            // Rounds only at multiples of the slot; promises need them sooner.
  /// The part of its time by which a promised job may end later than it was quoted; 0: quotes are
  /// only forecasts. See firm_quotes.h.
  double firm_quotes = 0;
  std::uint64_t seed = 0;
  bool share_profiles = false;  // Jobs of one model learn step times from each other.
  std::vector<TenantShare> tenants{};
  std::string placer{};  // As make_placer() reads it; empty: the default.
  /// What tenants can count on for jobs with deadlines, under a placer without quotas of its own;
  /// empty: all jobs are one tenant's. See tenant_split.h.
  std::vector<policy::tenants::TenantGpus> guarantees{};
};

/// What became of the quotes that were to be kept.
struct QuoteCount {
  std::uint64_t given = 0;
  std::uint64_t yielded = 0;  // Given up so that a newcomer could be promised its deadline.
};

/// Owned by Engine; the step functions of this folder change it.
struct EngineState {
  EngineState(const Topology& topology_given, SpeedBook speeds_given, const EngineOptions& options)
      : topology(topology_given),
        speeds(std::move(speeds_given)),
        goodputs(options.share_profiles),
        costs(options.accounting, topology.gpus(), options.slot, options.restart),
        slot(options.slot),
        grid(options.grid),
        firm_quotes(options.firm_quotes),
        tenants(options.tenants),
        random(options.seed),
        memory(costs.rounds_between_restarts()) {
    for (const Pool& pool : topology.pools()) {
      capacity.push_back(pool.gpus);
      used.push_back(0);
    }
    node_up.assign(topology.nodes().size(), true);
  }

  Topology topology;
  SpeedBook speeds;
  GoodputBook goodputs;
  ResizeCost costs;
  Duration slot;
  bool grid;
  double firm_quotes;
  std::vector<TenantShare> tenants;
  Random random;
  ArtifactMemory memory;

  Instant now{};
  JobTable jobs;
  std::vector<int> capacity;  // GPUs that are up, per pool.
  std::vector<int> used;      // GPUs in use, per pool.
  std::vector<bool> node_up;
  Instant wake = kNever;
  long rounds = 0;
  QuoteCount quote_count{};
  std::vector<NewNode> joined;  // Nodes that came after the engine was made.
  std::vector<JobId> unserved;  // Got fewer workers than decided; the policy is to be told.
};

[[nodiscard]] inline View view_of(EngineState& state) {
  return View{.now = state.now,
              .topology = state.topology,
              .capacity = state.capacity,
              .jobs = state.jobs,
              .speeds = state.speeds,
              .goodputs = &state.goodputs,
              .costs = state.costs,
              .slot = state.slot,
              .random = state.random,
              .nodes_up = &state.node_up,
              .tenants = state.tenants};
}

// The arrows of the picture, in the order in which one event passes them.

/// Takes the event into the state: new, finished and hit jobs, nodes, reports. False if it changes
/// nothing (late, repeated, impossible): then nobody need be asked about it.
[[nodiscard]] bool absorb(EngineState& state, Placer& placer, const Event& event,
                          Commands& commands);
/// Carries out verdicts: answers owners, drops refused jobs.
void admit(EngineState& state, const std::vector<Verdict>& verdicts, Commands& commands);
/// Carries out a round: counts to GPUs, and only what changed becomes a command. Jobs that the
/// placer refuses, or that must give way, are left in `unserved`.
void allocate(EngineState& state, Placer& placer, const Decision& decision, const Traits& traits,
              Commands& commands);
/// Chooses the batch of a job that has just reported its steps.
void adapt(EngineState& state, const Event& event, Commands& commands);
/// The batch a job should train with where it stands.
[[nodiscard]] BatchSplit best_split(const EngineState& state, const JobState& job);

/// What a job says of its speed, if it can be: positive, and each point with more workers than the
/// one before. Else nothing: it could not be ordered, nor read back from a journal.
[[nodiscard]] std::vector<ScalingPoint> possible_speeds(const Job& job);

/// Takes all workers from a job and tells the driver.
void suspend(EngineState& state, Placer& placer, JobState& job, Commands& commands);

/// The least time the work can take, alone on the empty cluster; kLongest if it can run nowhere.
[[nodiscard]] Duration quickest_run(const EngineState& state, SpeedId speed, double work);

}  // namespace rubato
