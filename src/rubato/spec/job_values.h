// Numbers of workers and speeds as users write them on one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/job.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

inline constexpr int kJobWorkersMax = 65'536;
inline constexpr int kJobSizesMax = 256;  // Listed numbers of workers, and points of speed.

/// `4` (exactly), `1-8`, `2-` (no upper limit) or `1,2,4` (these only).
[[nodiscard]] Result<wire::WorkerLimits> parse_workers(std::string_view text);
/// The same text again; `any` without limits.
[[nodiscard]] std::string workers_text(const wire::WorkerLimits& limits);

/// The same for the engine.
[[nodiscard]] WorkerCounts worker_counts(const wire::WorkerLimits& limits);

/// Such as `1:10,2:19`: steps per second with one worker and with two.
[[nodiscard]] Result<std::vector<wire::SpeedPoint>> parse_speeds(std::string_view text);

}  // namespace rubato
