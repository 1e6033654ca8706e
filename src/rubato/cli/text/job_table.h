// Jobs as lines, as a page and as a progress bar: from messages to text, nothing else.
#pragma once

#include <span>
#include <string>

#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// SUCCEEDED, FAILED, CANCELLED or REJECTED: nothing will change any more.
[[nodiscard]] bool is_final(const wire::JobStatus& job);

/// One line for each job, with a head.
[[nodiscard]] std::string job_table(const wire::JobList& list, const WallClock& clock,
                                    bool use_colour);

/// All there is to say about one job.
[[nodiscard]] std::string job_page(const wire::JobStatus& job, const WallClock& clock,
                                   bool use_colour);

/// Bar, steps, workers, speed and ETA on one line.
[[nodiscard]] std::string job_progress_line(const wire::JobStatus& job, const WallClock& clock);

/// What changed for its owner between two looks at a job; empty if nothing did.
[[nodiscard]] std::string job_change_line(const wire::JobStatus& before, const wire::JobStatus& now,
                                          const WallClock& clock);

/// The last line on a job that is over: how it ended, and whether its promise was kept.
[[nodiscard]] std::string job_end_line(const wire::JobStatus& job, const WallClock& clock);

/// What `rubato run` returns: the job's own code; 80 refused, 83 cancelled, 84 not finished; with
/// `is_strict` 81 if it finished after its promise.
[[nodiscard]] int job_exit_code(const wire::JobStatus& job, bool is_strict);

}  // namespace rubato
