// What policies share that decide every share anew at each round: verdicts, timing, targets.
//
// Everyone who can run somewhere is admitted, without a promise. Events ask for a round; the round
// reads all it needs from the view, so the only state kept here is when the last one was and
// whether another is due.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/policy/policy.h"
#include "rubato/policy/rounds/round_timer.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::rounds {

/// A job at a round, and what it is to have from then on.
struct Seat {
  const JobState* job = nullptr;
  PoolId pool{};
  int workers = 0;
  std::vector<NodeShare> nodes{};  // Empty: the placer chooses.
};

/// Seats stand in order of arrival, ties by id, so that rounds repeat.
class RoundPolicy : public Policy {
 public:
  [[nodiscard]] Traits traits() const override {
    return Traits{
        .resizes = true, .promises = false, .artifact_charge = ArtifactCharge::EveryRound};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) final;
  [[nodiscard]] std::string save() const final;
  [[nodiscard]] Status load(std::string_view state) final;

 protected:
  /// Fills in the seats of all admitted jobs; a seat that is left at zero workers stops its job.
  virtual void hold_round(const View& view, std::span<Seat> seats) = 0;
  /// The job is over.
  virtual void leaves(JobId /*job*/) {}
  /// The job reported, and still has workers; true if its speed bears on the shares.
  virtual bool measured(const JobState& /*job*/) { return false; }
  /// When shares change by themselves; kNever if they do not.
  [[nodiscard]] virtual Instant next_change(const View& /*view*/) const { return kNever; }

  /// For policies whose shares change all the time: `interval` after the last round, but no sooner
  /// than a slot or a second; kNever while there are no jobs.
  [[nodiscard]] Instant after_last_round(const View& view, Duration interval = {}) const;

  /// What a policy knows beyond the last round.
  virtual void append_state(std::string& /*state*/) const {}
  virtual Status restore(const SavedLine& line) { return unexpected(line); }
  virtual void clear() {}

 private:
  [[nodiscard]] Instant next_round(const View& view) const;

  RoundTimer timer_;
  bool is_due_ = false;  // Something happened since the last round.
};

}  // namespace rubato::policy::rounds
