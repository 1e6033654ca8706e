// What can happen: the only things an engine is ever told.
#pragma once

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

/// A report from a running job: what it has done, how fast it goes, how many workers it still has.
struct Measured {
  JobId job{};
  double done = 0;   // Steps, in all.
  double speed = 0;  // Steps per second now; zero if the report does not say.
  int workers = 0;
};

/// A user's answer to a counter-offer.
struct Reply {
  JobId job{};
  bool accepted = false;
};

struct Arrival {
  Job job{};
};

/// The moment a policy asked to be woken at.
struct Tick {};

/// Alternatives stand in the order in which events of one instant are handled.
using Event = std::variant<Completion, NodeChange, Measured, Reply, Arrival, Tick>;

}  // namespace rubato
