// What happened in a run: one record per job, and the cluster's use over time.
#pragma once

#include <string>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/job.h"
#include "rubato/core/placement.h"
#include "rubato/core/reason.h"

namespace rubato {

/// One job's life, filled in as it happens.
struct JobRecord {
  JobId id{};
  JobClass job_class = JobClass::Slo;
  Instant arrival{};
  Instant deadline = kNever;
  Instant promised = kNever;  // kNever: no promise was made.
  Instant quoted = kNever;    // When it was to end; kNever: no such word was given.
  Instant first_start = kNever;
  Instant finish = kNever;  // True finish, pauses included; kNever if it never finished.
  bool admitted = false;
  bool refused = false;
  Reason reason = Reason::None;  // Of the refusal.
  bool feasible_alone = true;    // Could meet its deadline alone on the empty cluster.
  double alone_seconds = 0;      // Run time alone on the empty cluster: the base of the slowdown.
  double requested_seconds = 0;  // Run time on the GPUs the trace asked for.
  int requested = 1;
  double gpu_seconds = 0;
  double value = 0;          // Of its value function at the finish; 0 if it never finished.
  double value_offered = 0;  // Of its value function had it finished at once.
  int resizes = 0;
  int migrations = 0;
  int restarts = 0;  // Starts after the first.

  [[nodiscard]] bool finished() const { return finish != kNever; }
  [[nodiscard]] bool met_deadline() const { return finished() && finish <= deadline; }
  [[nodiscard]] bool broke_promise() const { return promised != kNever && finish > promised; }
};

/// From this moment on: GPUs in use, and their speed-up over one GPU each (cluster efficiency).
struct UseSample {
  Instant at{};
  int gpus_used = 0;
  int gpus_up = 0;
  double speedup = 0;  // Sum over running jobs of speed(n) / speed(1).
  int running = 0;
  int waiting = 0;
};

/// A job held these GPUs during [from, to); kept only when a picture of it is wanted.
struct GanttBar {
  JobId job{};
  Instant from{};
  Instant to{};
  Placement placement{};
};

/// Everything the metrics and the report are made from.
struct History {
  std::vector<JobRecord> jobs{};     // In id order.
  std::vector<std::string> names{};  // As the trace calls them; empty, or one for each job.
  std::vector<UseSample> use{};      // Rising in time.
  std::vector<GanttBar> bars{};
  Instant start{};
  Instant end{};
  long decisions = 0;
  long rounds = 0;
};

}  // namespace rubato
