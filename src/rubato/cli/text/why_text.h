// Why a job stands as it does, and who changed its workers, for people.
#pragma once

#include <string>

#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// The binding reason first, then what would change it.
[[nodiscard]] std::string why_text(const wire::WhyReply& why);

/// One line for each change of workers, the oldest first.
[[nodiscard]] std::string blame_text(const wire::BlameReply& blame, const WallClock& clock);

/// One line on something that happened, with its remedies below.
[[nodiscard]] std::string event_text(const wire::EventRecord& event, const WallClock& clock);

}  // namespace rubato
