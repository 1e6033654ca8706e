// What policies with rounds of a fixed length share: verdicts, the clock of rounds, what changes.
//
// Who runs is decided at the start of a round and holds until its end: GPUs that fall free in
// between wait for the next round. When nothing runs, the next round begins at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubato/policy/policy.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::rounds {

/// Everyone who can run somewhere is admitted, without a promise.
class FixedRounds : public Policy {
 public:
  explicit FixedRounds(Duration round) : round_(round) {}

  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = false, .promises = false, .artifact_charge = ArtifactCharge::OnStart};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) final;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) final;

 protected:
  /// The job was admitted.
  virtual void joins(const JobState& job, const View& view) = 0;
  /// The job is over.
  virtual void leaves(JobId job) = 0;
  /// A report may have changed the job's speed.
  virtual void measured(const JobState& /*job*/, const View& /*view*/) {}
  /// All who run in the round that begins now; whoever is not named stops.
  [[nodiscard]] virtual std::vector<Target> hold_round(const View& view) = 0;
  /// Takes back one line that save() of the derived class appended.
  [[nodiscard]] virtual Status restore(const SavedLine& line) { return unexpected(line); }
  /// Forgets all that joins() and restore() brought.
  virtual void clear() = 0;

  /// Length of a round, or of a slot if that is longer.
  [[nodiscard]] Duration round(const View& view) const { return std::max(round_, view.slot); }
  /// When the last round began; kNever before the first.
  [[nodiscard]] Instant last_round() const { return timer_.last(); }

 private:
  [[nodiscard]] Instant next_round(bool is_needed, const View& view) const;

  Duration round_;
  RoundTimer timer_;
};

/// Adds what must change so that these jobs run and no others.
void run_only(const std::vector<Target>& chosen, const View& view, Decision& decision);

/// The gang in each pool that can hold what the job asked for; if no pool can, the one of
/// gang_of().
[[nodiscard]] std::vector<Gang> gangs_of(const JobState& job, const View& view);

}  // namespace rubato::policy::rounds
