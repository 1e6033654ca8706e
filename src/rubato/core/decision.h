// What a policy answers: verdicts on jobs, workers for jobs from now on, plans for later.
#pragma once

#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"
#include "rubato/core/placement.h"
#include "rubato/core/plan.h"
#include "rubato/core/reason.h"

namespace rubato {

enum class VerdictKind {
  Admit,
  Refuse,  // Final: the job leaves.
  Defer,   // Not yet decided; stays until a later verdict.
  Demote,  // Stays as a best-effort job, without a promise.
  Offer,   // Admitted for `payment` once its owner agrees: an OfferReply follows.
};

struct Verdict {
  JobId job{};
  VerdictKind kind = VerdictKind::Admit;
  Reason reason = Reason::None;
  Instant promised = kNever;  // Latest finish we answer for; kNever makes no promise.
  double payment = 0;
  Instant quoted = kNever;  // When the job is to end; kNever: nobody was told.
};

/// Workers a job should have from now on; zero workers stops it.
struct Target {
  JobId job{};
  PoolId pool{};
  int workers = 0;
  std::vector<NodeShare> nodes{};  // Where; empty leaves it to the placer. Adds up to `workers`.
};

struct JobPlan {
  JobId job{};
  Plan plan{};
};

/// Declarative: the engine works out what changes.
struct Decision {
  std::vector<Verdict> verdicts{};
  bool is_round = false;    // Shares were decided anew; without it `targets` is ignored.
  bool keep_others = true;  // Jobs without a target keep their workers; else they are stopped.
  std::vector<Target> targets{};
  std::vector<JobPlan> plans{};  // Replace the old plans of these jobs.
  Instant wake_at = kNever;      // Replaces any earlier wish; kNever: only on events.
};

}  // namespace rubato
