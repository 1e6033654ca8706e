// What goes wrong, when: drawn from a seed before the run, so that every policy meets the same bad
// luck.
#pragma once

#include <string_view>
#include <vector>

#include "rubato/base/random.h"
#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/core/ids.h"
#include "rubato/core/topology.h"

namespace rubato {

/// Mean times in seconds; zero switches a fault off.
struct FaultOptions {
  double node_mtbf = 0;          // Between losses of one node.
  double node_repair = 3600;     // Until a lost node is back.
  double worker_mtbf = 0;        // Between losses of one worker, per node of the cluster.
  double straggler_mtbf = 0;     // Between slow spells of one node.
  double straggler_span = 1800;  // Length of a slow spell.
  double straggler_speed = 0.5;  // Speed of jobs with a worker there, as a fraction.
  double report_every = 300;     // Between two reports of a running job, when anything can differ.
  double report_delay = 0;       // Mean delay of a report.
  double noise = 0;  // Standard deviation of true speed around the book's, as a fraction.

  [[nodiscard]] bool any() const {
    return node_mtbf > 0 || worker_mtbf > 0 || straggler_mtbf > 0 || noise > 0;
  }

  /// `node_mtbf=86400,node_repair=600,...`; the error suggests the nearest spelling.
  static Result<FaultOptions> parse(std::string_view text);
};

enum class FaultKind { NodeDown, NodeUp, WorkerLost, SlowBegins, SlowEnds };

struct Fault {
  Instant at{};
  FaultKind kind = FaultKind::NodeDown;
  NodeId node{};
};

/// All faults in [start, end), in order of time.
[[nodiscard]] std::vector<Fault> draw_faults(const FaultOptions& options, const Topology& topology,
                                             Instant start, Instant end, Random random);

}  // namespace rubato
