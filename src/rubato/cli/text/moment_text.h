// Moments of messages for people: as the clock on their wall shows them.
#pragma once

#include <string>

#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

[[nodiscard]] Instant instant_from(const google::protobuf::Timestamp& moment);
[[nodiscard]] google::protobuf::Timestamp timestamp_from(Instant moment);

/// `18:00`, with seconds if it is near; `Sat 18:00` on another day, `2030-01-31 18:00` beyond a
/// week.
[[nodiscard]] std::string moment_text(Instant moment, const WallClock& clock);
[[nodiscard]] std::string moment_text(const google::protobuf::Timestamp& moment,
                                      const WallClock& clock);

/// What to write after --deadline to mean this moment or a little later: `3m25s` if it is near,
/// `18:01` on the same day, else RFC 3339.
[[nodiscard]] std::string deadline_flag_text(Instant moment, const WallClock& clock);

}  // namespace rubato
