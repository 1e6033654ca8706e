// A job as its owner describes it: what to train, how much of it, and by when.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/batch.h"
#include "rubato/core/ids.h"
#include "rubato/core/scaling_curve.h"
#include "rubato/core/value.h"

namespace rubato {

enum class JobClass {
  Slo,         // The deadline is hard: admitted with a promise or refused.
  Soft,        // Wants its deadline, runs on when it is missed.
  BestEffort,  // No deadline: takes what is left over.
};

[[nodiscard]] std::string_view to_string(JobClass job_class);

/// Numbers of workers a job accepts; users need not set it.
struct WorkerCounts {
  int min = 1;
  int max = 1 << 20;
  std::vector<int> listed{};  // If given, exactly these (rising); else the measured powers of two.

  [[nodiscard]] bool allows(int workers) const;

  friend bool operator==(const WorkerCounts&, const WorkerCounts&) = default;
};

/// Everything a user or a trace says about a job; never changes after submission.
struct Job {
  JobId id{};
  std::string name{};  // As the trace or the user calls it.
  std::string tenant{};
  JobClass job_class = JobClass::Slo;
  Instant arrival{};
  Instant deadline = kNever;
  double work = 0;      // Steps to do. Zero in a trace row that gives only a duration.
  double padding = 0;   // Extra steps reserved because reports come late; not part of forecasts.
  std::string model{};  // With `batch` the key to the measured speeds.
  int batch = 0;        // Global batch size; zero if unknown.
  BatchLimits batches{};
  int requested = 1;    // GPUs the trace says it used: for policies that cannot stretch jobs.
  Duration duration{};  // Run time on `requested` GPUs as the trace has it; zero if unknown.
  WorkerCounts workers{};
  std::string gpu_type{};  // Empty: any type with a known speed.
  std::string region{};    // Where its data lies; elsewhere they must be uploaded first.
  double data_gb = 0;      // How much data that is.
  double weight = 1;
  ValueFunction value{};
  /// Steps per second that its owner declared or its kind was measured at; used where the book has
  /// no rows for its kind.
  std::vector<ScalingPoint> speeds{};

  [[nodiscard]] bool has_deadline() const { return deadline != kNever; }
};

}  // namespace rubato
