// A scale that is only asked about, as `rubato what-if --scale` has it.
#pragma once

#include <string_view>

#include "rubato/base/result.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// `42=1-8`: a job and its workers, these as `rubato scale --workers` has them.
[[nodiscard]] Result<wire::WhatIfScale> parse_scale(std::string_view text);

}  // namespace rubato
