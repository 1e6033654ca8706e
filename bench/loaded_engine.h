// An engine in steady state, for benchmarks: so many active jobs on so many GPUs, and time goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "rubato/engine/engine.h"

namespace rubato {

/// How much the promised jobs need of the cluster.
enum class Pressure {
  Roomy,      // A new job fits beside all plans.
  Congested,  // Promises fill the cluster, and urgent jobs make all plans be made anew, in vain.
};

struct LoadOptions {
  std::string policy{};
  int jobs = 0;
  int gpus = 0;
  Pressure pressure = Pressure::Roomy;
};

/// Plays the driver. Jobs are so long that none ends but by turn_over(); they are soft, so that
/// those for which there is no room stay as well, and the number of active jobs is what was asked
/// for.
class LoadedEngine {
 public:
  explicit LoadedEngine(const LoadOptions& options);

  /// The oldest job completes and, a slot later, a new one arrives, each with its round. Under
  /// congestion an urgent one comes as well, for which there is no room, and is cancelled a slot
  /// later. Returns the processor time of these decisions, in seconds.
  double turn_over();

  /// Of each decision so far, in seconds of processor time, sorted.
  [[nodiscard]] std::vector<double> sorted_decisions() const;
  /// Starts, stops and resizes ordered by these decisions.
  [[nodiscard]] long changes() const { return changes_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  /// Made as this one was, before its first event.
  [[nodiscard]] Engine fresh_engine() const;

 private:
  void pass_until(Instant moment);
  double tell(const Event& event);
  double hold_round();
  [[nodiscard]] Job next_job();
  [[nodiscard]] Job urgent_job();
  double come_and_go();

  LoadOptions options_;
  Engine engine_;
  Instant now_{};
  Instant wake_ = kNever;
  std::uint64_t next_ = 0;
  std::deque<JobId> active_;  // Oldest first, without the urgent ones.
  bool measures_ = false;
  std::vector<double> decisions_;
  long changes_ = 0;
};

/// The value at a share of sorted numbers, by nearest rank; zero of none.
[[nodiscard]] double percentile_of(const std::vector<double>& sorted, double share);

/// The most memory this process ever had, in bytes.
[[nodiscard]] double most_memory_bytes();

/// Processor time of this thread, in seconds: what others run meanwhile does not count.
[[nodiscard]] double thread_seconds();

}  // namespace rubato
