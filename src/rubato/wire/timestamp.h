// Moments in messages.
#pragma once

#include <optional>

#include <google/protobuf/timestamp.pb.h>

#include "rubato/base/result.h"
#include "rubato/base/time.h"

namespace rubato {

/// Nothing for kNever, and for what the format has no year for (before year 1, after 9999).
[[nodiscard]] std::optional<google::protobuf::Timestamp> to_timestamp(Instant moment);
/// Parts of a microsecond are cut off, so that a deadline never moves later.
[[nodiscard]] Result<Instant> from_timestamp(const google::protobuf::Timestamp& timestamp);

}  // namespace rubato
