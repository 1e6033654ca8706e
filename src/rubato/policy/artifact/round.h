// One scheduling round of ElasticFlow's published simulator: admission, shares, pauses.
#pragma once

#include <span>
#include <vector>

#include "rubato/core/reason.h"
#include "rubato/policy/artifact/books.h"
#include "rubato/policy/artifact/filling.h"
#include "rubato/policy/artifact/groups.h"
#include "rubato/predict/resize_cost.h"

namespace rubato::policy::artifact {

/// Plans the admitted jobs and the arrivals together. If nobody would be late, all arrivals join
/// the books, else only those of best effort. Leaves every job in the books planned and with its
/// planned GPUs, sorted by deadline, and in `free` what the plans leave over. Returns for each
/// arrival why it was refused, None if it was not.
[[nodiscard]] std::vector<Reason> admit(Books& books, std::span<const BookedJob> arrivals,
                                        const Frame& frame, Steps& free);

/// Sorts by GPUs, most first, and charges every running job the pause of this round.
void charge(Books& books, Groups& groups, const ResizeCost& costs);

}  // namespace rubato::policy::artifact
