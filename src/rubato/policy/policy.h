// The scheduler of a paper, as a pure state machine: an event and a view in, a decision out.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/core/decision.h"
#include "rubato/core/event.h"
#include "rubato/policy/view.h"

namespace rubato {

/// Who pays at a round under the artifact's accounting; the published simulator has one rule for
/// each scheduler.
enum class ArtifactCharge {
  EveryRound,  // All running jobs, changed or not (ElasticFlow and its relatives).
  OnStart,     // Only jobs that start or resume (Tiresias).
  Free,        // Never (EDF).
};

/// What drivers and users must know about a policy before they run it.
struct Traits {
  bool resizes = false;       // False: jobs run on the GPUs they asked for.
  bool promises = false;      // Its admitted deadlines are promises.
  bool keeps_quotes = false;  // Follows a deadline that changes, and hurries nobody (FirmQuote).
  bool adapts_batch = false;  // Jobs that permit it train with the batch that teaches them fastest.
  bool plans_nodes = false;   // Reserves nodes ahead: it cannot live on a part of the cluster.
  ArtifactCharge artifact_charge = ArtifactCharge::OnStart;
};

/// Same events and views, same decisions. All state is what save() writes.
class Policy {
 public:
  virtual ~Policy() = default;

  [[nodiscard]] virtual Traits traits() const = 0;
  [[nodiscard]] virtual Decision on(const Event& event, const View& view) = 0;

  /// The state as text; load() of that text continues exactly where save() was called.
  [[nodiscard]] virtual std::string save() const { return {}; }
  [[nodiscard]] virtual Status load(std::string_view state) {
    return state.empty() ? ok_status() : Status(bad_input("this policy keeps no state"));
  }
};

}  // namespace rubato
