// A job as the scheduler sees it: what its owner said, and all that happened to it since.
#pragma once

#include "rubato/base/time.h"
#include "rubato/core/batch.h"
#include "rubato/core/job.h"
#include "rubato/core/placement.h"
#include "rubato/core/plan.h"
#include "rubato/core/progress.h"
#include "rubato/core/reason.h"

namespace rubato {

/// GPU time and waiting time of one job, kept up to date lazily.
struct Usage {
  Instant since{};
  double gpu_seconds = 0;
  Duration executed{};
  Duration waited{};

  /// Adds the span from `since` to `moment`, during which the job had `workers`.
  void advance(Instant moment, int workers);
  [[nodiscard]] Duration executed_at(Instant moment, int workers) const {
    return executed + (workers > 0 ? moment - since : Duration{});
  }
  [[nodiscard]] double gpu_seconds_at(Instant moment, int workers) const;
};

/// The finish a job was quoted, while plans keep it; see engine/answers/firm_quotes.h.
struct FirmQuote {
  Instant finish = kNever;   // kNever: only the deadline is kept.
  Instant soonest = kNever;  // Rather than end earlier it waits.
  Instant asked = kNever;    // The deadline its owner asked for; that of the job is earlier.

  [[nodiscard]] bool is_kept() const { return finish != kNever; }
};

/// Lives from arrival to completion or refusal; owned by the engine, read by policies.
struct JobState {
  Job job{};
  JobClass job_class = JobClass::Slo;  // Changes when the job is demoted.
  SpeedId speed{};                     // Its entry in the speed book.
  double speed_factor = 1;             // Measured speed over the book's; 1 until measured.
  bool admitted = false;
  Instant promised = kNever;
  FirmQuote quote{};
  Reason reason = Reason::None;  // Why it has no workers, if it has none.

  int share = 0;  // Workers now.
  Placement placement{};
  BatchSplit split{};  // Its own unless the policy adapts batches.
  Progress progress{};
  Usage usage{};
  Plan plan{};

  Instant first_start = kNever;
  int resizes = 0;
  int migrations = 0;
  int restarts = 0;  // Starts after the first.

  [[nodiscard]] JobId id() const { return job.id; }
  [[nodiscard]] PoolId pool() const { return placement.pool; }
  [[nodiscard]] double work_left(Instant now) const {
    const double left = job.work - progress.at(now);
    return left > 0 ? left : 0;
  }
};

}  // namespace rubato
