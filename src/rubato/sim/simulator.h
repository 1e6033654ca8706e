// Driver 1: feeds the engine virtual time and carries its commands out on modelled training.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/core/topology.h"
#include "rubato/engine/engine.h"
#include "rubato/metrics/history.h"
#include "rubato/sim/fault_model.h"

namespace rubato {

struct SimOptions {
  std::string policy{};
  ResizeCostModel accounting = ResizeCostModel::Physical;
  Duration slot = std::chrono::seconds{60};
  Duration restart = kByModel;
  double firm_quotes = 0;  // As in EngineOptions.
  bool grid = false;
  bool share_profiles = false;
  std::uint64_t seed = 0;
  FaultOptions faults{};
  std::vector<TenantShare> tenants{};
  std::string placer{};      // As make_placer() reads it; empty: the default.
  bool keep_bars = false;    // Keep every placement, for pictures.
  double limit_seconds = 0;  // By a real clock; a run that takes longer fails. 0: no limit.
  bool audit = false;        // Check the whole engine after every event: slow, for tests.
};

/// What a run leaves behind. Decision times are by a real clock, the rest is a function of the
/// input.
struct SimResult {
  History history{};
  double decision_p50_seconds = 0;
  double decision_p99_seconds = 0;
  double decision_max_seconds = 0;
  double wall_seconds = 0;
};

/// Sees every event before and every command after it is handled, as the live journal would.
struct SimWatcher {
  std::function<void(Instant, const Event&)> on_event{};
  std::function<void(Instant, const Command&)> on_command{};
  std::function<void(std::size_t done, std::size_t all)> on_progress{};
};

/// Runs a prepared workload to its end. Fails on a bad policy name, or if the policy decides
/// something impossible.
[[nodiscard]] Result<SimResult> simulate(const std::vector<Job>& jobs, const Topology& topology,
                                         const SpeedBook& speeds, const SimOptions& options,
                                         const SimWatcher& watcher = {});

}  // namespace rubato
