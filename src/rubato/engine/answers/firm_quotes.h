// Quotes that are kept: a job ends when it was told it would, to within a tolerance.
//
// A forecast alone cannot be trusted: those who come later take the idle GPUs it counted on. So a
// promised job is quoted a finish when it arrives, and planned from then on to end within most of
// the tolerance of it. It is not hurried: idle GPUs go to jobs without a quote.
// 1. A copy of the engine is played on: as soon as this could the job end if nobody came any more.
// 2. The quote lies half way from there to its deadline, which leaves room for those who do come.
// 3. With that as its terms a copy is played on again, until quote and outcome agree.
// A newcomer that would be refused for the sake of quotes alone may make one of them yield: of that
// job only the promise is kept. No more than one quote in twenty may go this way.
//
// Jobs whose future is too long to be played on (forecast.h) have no quote that is kept.
#pragma once

#include <optional>

#include "rubato/core/job_state.h"

namespace rubato {

/// Under which terms a job joins an engine that keeps its quotes.
struct FirmTerms {
  Instant deadline = kNever;             // For its plans; the owner's, or earlier.
  FirmQuote quote{};                     // None if nothing could be quoted.
  std::optional<JobId> dropped_quote{};  // Whose quote is given up for it.
};

}  // namespace rubato
