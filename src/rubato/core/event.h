// What can happen: the only things an engine is ever told.
#pragma once

#include <optional>
#include <variant>

#include "rubato/core/ids.h"
#include "rubato/core/job.h"

namespace rubato {

enum class Outcome { Finished, Failed, Cancelled };

struct Completion {
  JobId job{};
  Outcome outcome = Outcome::Finished;
};

struct NodeChange {
  NodeId node{};
  bool up = false;
};

/// How long the steps of a job take as it stands, and how noisy its gradients are.
struct StepObservation {
  int nodes = 0;
  int workers = 0;
  int local_batch = 0;           // Samples that one worker takes at a time.
  double pass_seconds = 0;       // One pass over them, without exchange of gradients.
  double step_seconds = 0;       // One pass with exchange.
  double gradient_squared = 0;   // Of the true gradient: its squared norm,
  double gradient_variance = 0;  // and the variance of its estimate at the initial batch.
};

/// A report from a running job: what it has done, how fast it goes, how many workers it still has.
struct ProgressReport {
  JobId job{};
  double done = 0;   // Steps, in all.
  double speed = 0;  // Steps per second now; zero if the report does not say.
  int workers = 0;
  std::optional<StepObservation> step{};  // From jobs whose batch adapts.
};

/// A user's answer to a counter-offer.
struct OfferReply {
  JobId job{};
  bool accepted = false;
};

struct Arrival {
  Job job{};
};

/// The moment a policy asked to be woken at.
struct Tick {};

/// Alternatives stand in the order in which events of one instant are handled.
using Event = std::variant<Completion, NodeChange, ProgressReport, OfferReply, Arrival, Tick>;

}  // namespace rubato
