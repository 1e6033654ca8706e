// What it costs a job, in time without progress, to start, to be resized or to be moved.
//
// Two accountings that must never be compared with each other (specs of ElasticFlow, section 7):
// A, `artifact`, the published simulator's: at each round running jobs stop for a while, changed or
// not. B, `physical`: only a job whose workers change stops, for a time measured per model.
#pragma once

#include <string_view>

#include "rubato/base/time.h"
#include "rubato/core/job.h"

namespace rubato {

enum class ResizeCostModel { None, Artifact, Physical };

[[nodiscard]] std::string_view to_string(ResizeCostModel accounting);

/// A restart that costs what was measured for the model, under `physical`.
inline constexpr Duration kByModel{-1};

/// How a job's workers change at a round.
struct ShareChange {
  int from = 0;
  int to = 0;
  bool moved = false;  // Same number of workers, other GPUs.
};

/// Pure: same question, same answer. The artifact's memory of used GPU sets is the engine's.
class ResizeCost {
 public:
  /// `restart`: what every change of workers costs under `physical`.
  ResizeCost(ResizeCostModel accounting, int cluster_gpus, Duration slot,
             Duration restart = kByModel);

  [[nodiscard]] ResizeCostModel accounting() const { return accounting_; }

  /// Pause of a changed job under `physical` (zero if nothing changes or it stops).
  [[nodiscard]] Duration physical(const Job& job, const ShareChange& change) const;

  /// Pause of one running job at one round under `artifact`. `known_set`: it has used exactly these
  /// GPUs since the last restart; `restarts`: this round restarts every trainer process.
  [[nodiscard]] Duration artifact(int workers, bool known_set, bool restarts) const;

  /// Rounds between two restarts of all trainer processes under `artifact`.
  [[nodiscard]] int rounds_between_restarts() const { return rounds_between_restarts_; }

 private:
  ResizeCostModel accounting_;
  Duration restart_;
  bool is_large_;  // 256 GPUs or more.
  int rounds_between_restarts_;
};

}  // namespace rubato
