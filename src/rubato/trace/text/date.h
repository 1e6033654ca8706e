// Calendar dates of traces to seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rubato {

/// `2017-10-07 01:11:39` or with a `T` between: seconds since the start of 1970, taking the text as
/// UTC (traces name no zone, and only differences matter). Years 1970 to 2096.
[[nodiscard]] std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace rubato
