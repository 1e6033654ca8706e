// The answer to "what if I submitted this now?": a promise, or what could be had instead.
#pragma once

#include <string_view>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/decision.h"
#include "rubato/core/plan.h"
#include "rubato/core/scaling_curve.h"

namespace rubato {

enum class OfferKind { LaterDeadline, MoreGpus, BestEffort };

[[nodiscard]] std::string_view to_string(OfferKind kind);

/// Something that would be admitted in place of a refused job: each was asked about, not guessed.
struct CounterOffer {
  OfferKind kind = OfferKind::BestEffort;
  Instant deadline = kNever;  // LaterDeadline: the earliest that would be promised.
  int gpus = 0;               // MoreGpus: how many more the cluster would need.
};

struct Quote {
  Verdict verdict{};          // Defer if the policy would answer later than at arrival.
  Instant earliest = kNever;  // Earliest finish that would be promised; kNever if none would be.
  Plan plan{};                // Of its run; empty if the policy made none.
  Instant finish = kNever;    // As planned.
  double gpu_hours = 0;       // Of the planned run; zero without a plan.
  Provenance provenance = Provenance::Assumed;  // Of the speeds the quote rests on.
  std::vector<CounterOffer> offers{};
};

}  // namespace rubato
