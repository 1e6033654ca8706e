// Gandiva: everybody starts soon; jobs take turns on full nodes, and move to where they fit better.
//
// Xiao et al., "Gandiva: Introspective Cluster Scheduling for Deep Learning" (OSDI'18), section 3.
// Each job is assigned to nodes by affinity (affinity_nodes.h) and runs there on the GPUs it asked
// for. Where jobs ask for more than a node has, they take turns of a minute, the one with the least
// time per weight first. When a job leaves: waiting jobs move to free GPUs, scattered jobs to holes
// of one node, and nodes of which three quarters are free are emptied into fuller ones. A job that
// said which numbers of workers it accepts grows into GPUs of its node that nobody asked for in a
// while, and shrinks as soon as somebody does.
//
// Differences: two jobs never share one GPU at once (packing), since the engine gives a GPU to one
// job; so nothing is profiled to choose partners. Turns are cluster-wide, so that jobs of several
// nodes take theirs on all of them together. A queued job that has waited `patience` takes turns
// with whatever is there instead of waiting for a departure. Weights mean time, not strict
// priority.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::gandiva {

struct GandivaOptions {
  Duration turn = std::chrono::seconds{60};
  Duration patience = std::chrono::minutes{10};  // In the queue, before any node will do.
  Duration grow_delay =
      std::chrono::minutes{5};  // Without change on a node before jobs grow there.
  bool grow = true;
};

[[nodiscard]] std::unique_ptr<Policy> make_gandiva(GandivaOptions options);

/// `turn=60,patience=600,grow_delay=300` (seconds), `grow=true`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_gandiva(const PolicyOptions& options);

[[nodiscard]] PolicyInfo gandiva_policy();

}  // namespace rubato::policy::gandiva
