// Moments as users write them, made absolute: time and zone are passed in.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// How far local time is ahead of UTC at a moment.
using ZoneOffset = std::function<Duration(Instant moment)>;

[[nodiscard]] inline Duration no_offset(Instant /*moment*/) { return Duration{0}; }

/// What a clock on the user's wall shows. Instants are microseconds since the Unix epoch.
struct WallClock {
  Instant now{};
  ZoneOffset zone = no_offset;
};

/// `2030-01-31T18:00:00Z`, with an offset such as +02:00 in place of Z; seconds may have fractions.
[[nodiscard]] Result<Instant> parse_rfc3339(std::string_view text);

/// RFC 3339 in UTC, with microseconds only if there are any.
[[nodiscard]] std::string rfc3339_text(Instant moment);

/// RFC 3339; `HH:MM` or `Sat 02:00`: the next such local time; `now+6h` or `6h`. A local time that
/// the clocks skip is as much later as they skip; of one that comes twice, the first.
[[nodiscard]] Result<Instant> resolve_deadline(std::string_view text, const WallClock& clock);

}  // namespace rubato
