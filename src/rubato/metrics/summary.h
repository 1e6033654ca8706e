// A run in numbers: what `rubato sim` prints about one policy.
#pragma once

#include "rubato/metrics/history.h"

namespace rubato {

/// Times are in seconds, ratios from 0 to 1. An average over no jobs is 0; a deadline ratio over no
/// deadlines is 1, since none was missed. Percentiles are by nearest rank (percentile.h).
struct Summary {
  long jobs = 0;
  long admitted = 0;
  long refused = 0;
  long finished = 0;

  /// A deadline job is one of class slo or soft that has a deadline; refused ones count as missed.
  long deadline_jobs = 0;
  long deadline_met = 0;
  double deadline_met_ratio = 1;
  double deadline_upper_bound = 1;  // Share of deadline jobs feasible alone on the empty cluster.
  double deadline_met_gpu_hours_ratio = 1;  // Weighted by requested GPUs * requested_seconds.
  long promises = 0;
  long promises_broken = 0;  // Finished after the promised moment, or not at all.
  /// |finish - quoted| over the quoted time, of finished jobs whose quotes were to be kept.
  double quote_error_p50 = 0;
  double quote_error_p90 = 0;

  /// JCT is finish - arrival, of finished jobs only.
  double jct_avg_seconds = 0;
  double jct_p50_seconds = 0;
  double jct_p99_seconds = 0;
  double best_effort_jct_avg_seconds = 0;
  /// Slowdown is JCT / alone_seconds, of finished jobs whose alone_seconds is known.
  double slowdown_avg = 0;
  double slowdown_p99 = 0;
  double makespan_seconds = 0;  // First arrival to last finish.

  double gpu_utilization = 0;           // GPU time in use / GPU time up, over [start, end).
  double cluster_efficiency = 0;        // Mean over time of speedup / gpus_up, while any GPU is up.
  double finish_time_fairness_max = 0;  // The worst rho (fairness.h) of a finished job.
  double finish_time_fairness_avg = 0;  // Of finished jobs whose rho is known; so is the next.
  double finish_time_fairness_p99 = 0;
  double fair_ratio = 1;     // Share of all jobs that finished with rho <= kFairRho.
  double total_value = 0;    // At the true latency; a refused or unfinished job is worth nothing.
  double value_offered = 0;  // Had every job finished at once.

  long resizes = 0;
  long migrations = 0;
  long restarts = 0;
  long decisions = 0;
  long rounds = 0;

  friend bool operator==(const Summary&, const Summary&) = default;
};

/// Up to here a job counts as treated fairly: a tenth later than with an equal share is noise.
inline constexpr double kFairRho = 1.1;

/// O(n log n) in jobs and use samples.
[[nodiscard]] Summary summarize(const History& history);

/// Class slo or soft, with a deadline.
[[nodiscard]] bool is_deadline_job(const JobRecord& job);

}  // namespace rubato
