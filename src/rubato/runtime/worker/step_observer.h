// What rank 0 makes of the steps it commits: how long they take at each shape, and who is slow. It
// puts that into messages for the conductor.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "rubato/runtime/adapt/step_profile.h"
#include "rubato/runtime/adapt/straggler.h"
#include "rubato/runtime/data/batch_split.h"
#include "rubato/runtime/worker/worker_pulse.h"
#include "rubato/wire/worker.pb.h"

namespace rubato {

/// One committed step of a group, as rank 0 saw it.
struct ObservedStep {
  std::uint64_t generation = 0;
  std::uint64_t batch = 0;
  double total_seconds = 0;  // Since the commit before.
  StepTimes times{};         // Of rank 0.
  std::span<const double> notes{};
  const StepSplit& split;
};

/// Lives as long as the worker, through all generations.
class StepObserver {
 public:
  void observe(const ObservedStep& step);
  /// What there is to tell; `is_last`: the group ends, keep nothing back.
  [[nodiscard]] std::vector<wire::FromWorker> take_messages(bool is_last);

 private:
  void watch_ranks(const ObservedStep& step);

  std::uint64_t generation_ = 0;
  StepProfile profile_;  // Of this generation, since the last message.
  StragglerWatch watch_{StragglerOptions{}};
  std::vector<RankCompute> ranks_;
  std::set<int> named_;  // In this generation.
  std::vector<wire::FromWorker> messages_;
};

}  // namespace rubato
