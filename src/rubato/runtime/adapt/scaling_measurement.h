// Measures how fast a job is at several numbers of workers while it trains, by giving it many at
// first and taking them away stepwise: shrinking costs next to nothing (CoDDL, NSDI'21).
//
// A small state machine without a clock: it is told of each step, and says how many workers the job
// should have now. Who asks for more and who takes away is someone else's matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rubato {

/// What to visit and for how long.
struct ScalingSchedule {
  std::vector<int> workers{};          // Falling.
  std::uint64_t steps_per_point = 20;  // Counted ones.
  std::uint64_t steps_skipped = 1;     // At the beginning of each point.
};

/// The counts that tile nodes: multiples of a node's GPUs, then its factors, from `most` to 1.
[[nodiscard]] std::vector<int> shrinking_counts(int most, int gpus_per_node);

/// One measured point.
struct WorkerSpeed {
  int workers = 0;
  std::uint64_t steps = 0;
  double step_seconds = 0;  // Mean.

  [[nodiscard]] double steps_per_second() const { return 1 / step_seconds; }
};

/// One pass over a schedule. Points that the job falls past, because workers were lost or taken,
/// are given up: going back up would cost what shrinking saves.
class ScalingMeasurement {
 public:
  explicit ScalingMeasurement(ScalingSchedule schedule);

  /// How many workers the job should have now; the last point's count once all is done.
  [[nodiscard]] int workers_wanted() const;
  [[nodiscard]] bool is_done() const { return next_ == schedule_.workers.size(); }

  /// A committed step with this many workers; true if it is time to shrink (or if it was the last
  /// one needed). Steps with more workers than wanted, until a shrink has come through, count for
  /// nothing.
  bool on_step(int workers, double seconds);

  /// In the order of the schedule; only points with all their steps.
  [[nodiscard]] std::span<const WorkerSpeed> measured() const { return measured_; }
  /// Points given up so far.
  [[nodiscard]] std::span<const int> missed() const { return missed_; }

 private:
  bool move_on();

  ScalingSchedule schedule_;
  std::size_t next_ = 0;
  WorkerSpeed current_{};
  std::uint64_t skipped_ = 0;
  std::vector<WorkerSpeed> measured_{};
  std::vector<int> missed_{};
};

}  // namespace rubato
