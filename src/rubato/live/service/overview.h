// The whole cluster in a few numbers, now or at a moment of the past.
#pragma once

#include "rubato/live/controller/controller.h"
#include "rubato/live/service/caller.h"
#include "rubato/wire/history.pb.h"

namespace rubato {

/// Whether the caller may look at jobs of a tenant.
[[nodiscard]] bool may_look(const Caller& caller, const wire::JobSpec& spec);

/// Counts the jobs that the caller may look at.
[[nodiscard]] wire::OverviewReply overview_of(const Controller& controller, Instant now,
                                              const Caller& caller);

}  // namespace rubato
