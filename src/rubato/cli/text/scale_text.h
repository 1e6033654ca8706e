// What a scale would do, for people: to the job itself and to the others.
#pragma once

#include <string>

#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// Finish, promise and GPU-hours of the job before and after, and how many others would be hurt.
/// Empty if the answer does not have the job.
[[nodiscard]] std::string scale_text(const wire::WhatIfReply& reply, const wire::WhatIfScale& scale,
                                     const WallClock& clock);

}  // namespace rubato
