// What the demonstration prints: from messages to text, nothing else.
#pragma once

#include <string>

#include "rubato/base/time.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// One row for each job, oldest first; moments are counted from `now`.
[[nodiscard]] std::string demo_table(const wire::JobList& newest_first, Instant now,
                                     bool use_colour);

/// What changed between two looks at a job; empty if nothing that people would want to hear.
[[nodiscard]] std::string demo_change(const wire::JobStatus& before, const wire::JobStatus& now);

/// What was promised beside what came of it.
[[nodiscard]] std::string promise_table(const wire::JobList& newest_first);

/// Promises that were given and kept, or broken.
struct PromiseCount {
  int kept = 0;
  int broken = 0;
};
[[nodiscard]] PromiseCount count_promises(const wire::JobList& list);

}  // namespace rubato
