// How an answer to "what if?" is read.
#pragma once

#include <string_view>

#include "rubato/wire/platform.pb.h"

namespace rubato {

/// The words of WhatIfJob.promise_now and promise_then.
inline constexpr std::string_view kPromiseKept = "kept";
inline constexpr std::string_view kPromiseAtRisk = "at_risk";
inline constexpr std::string_view kPromiseBroken = "broken";

/// Whether it changes one job's workers and nothing else.
[[nodiscard]] bool is_scale_alone(const wire::WhatIfRequest& request);

enum class Shift { Earlier, None, Later };
/// Which way a job's finish would move; a second is no move, since plays are no more exact. A job
/// that would not end any more is later.
[[nodiscard]] Shift shift_of(const wire::WhatIfJob& job);
/// A promise that holds now and would not then.
[[nodiscard]] bool would_break(const wire::WhatIfJob& job);

}  // namespace rubato
