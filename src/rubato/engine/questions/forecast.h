// When a job is expected to end: a copy of the engine is played on as if all went as it believes.
#pragma once

#include "rubato/base/time.h"
#include "rubato/core/job.h"
#include "rubato/engine/engine.h"

namespace rubato {

/// What a forecast may cost, so that it stays the same on every machine: decisions, each counted
/// once for every job that was active at it.
inline constexpr long kForecastVisitsMax = 100'000;

struct Forecast {
  Instant finish = kNever;  // kNever: not known within the bound, or never.
  double gpu_hours = 0;     // That the job will have had by then.
  long visits = 0;          // What it cost.

  [[nodiscard]] bool is_known() const { return finish != kNever; }
};

/// No further arrivals, no faults, speeds and pauses as the engine has them. Known at once to be
/// beyond the bound if so many jobs are active that only a few decisions could be made.
[[nodiscard]] Forecast forecast(const Engine& engine, JobId job,
                                long visits_max = kForecastVisitsMax);
/// The same of a job that would arrive now; not known of one that would be refused.
[[nodiscard]] Forecast forecast_arrival(const Engine& engine, Instant now, const Job& job,
                                        long visits_max = kForecastVisitsMax);

}  // namespace rubato
