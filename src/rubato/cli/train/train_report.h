// A job's timeline for people and for scripts.
#pragma once

#include <string>

#include "rubato/launch/job_timeline.h"

namespace rubato {

/// One line per generation: what caused it, who trained, how long the pause was.
[[nodiscard]] std::string timeline_table(const JobTimeline& timeline);

/// The same and more, as JSON.
[[nodiscard]] std::string timeline_json(const JobTimeline& timeline);

}  // namespace rubato
