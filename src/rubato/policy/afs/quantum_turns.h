// Turns of a fixed length for jobs that cannot all run at once and whose run times are unknown.
//
// A job that is given a turn keeps its smallest count until the quantum is over, whoever arrives.
// Then others go first: those who have waited longest, so that nobody starves; or those who have
// had fewer turns, which favours short jobs but lets a stream of them keep all others waiting.
#pragma once

#include <map>
#include <span>
#include <string>

#include "rubato/base/time.h"
#include "rubato/policy/afs/pair_sharing.h"
#include "rubato/policy/rounds/round_policy.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::afs {

struct QuantumOptions {
  Duration quantum = from_seconds(7200);
  bool fewest_turns_first = false;  // Else who has waited longest.
};

class QuantumTurns {
 public:
  explicit QuantumTurns(QuantumOptions options) : options_(options) {}

  /// Not everyone can run: gives smallest counts to holders of a live quantum, then to the others
  /// in order of (waiting since, turns) or (turns, first start), ties by arrival. Sharers stand
  /// beside their seats.
  void share(Instant now, int gpus, std::span<rounds::Seat* const> seats,
             std::span<Sharer> sharers);
  /// There is room for everyone: no one holds a quantum any more.
  void release(std::span<rounds::Seat* const> seats);
  void forget(JobId job) { turns_.erase(job); }
  void clear() { turns_.clear(); }

  /// When the first live quantum ends; kNever if there is none.
  [[nodiscard]] Instant next_end() const;
  [[nodiscard]] int turns(JobId job) const;

  void append_to(std::string& state) const;
  /// False if the line is not one of ours.
  [[nodiscard]] bool restore(const SavedLine& line);

 private:
  struct Turn {
    int taken = 0;           // Quanta used up.
    Instant since{};         // Arrival, or end of the last one.
    Instant until = kNever;  // End of the live quantum; kNever if there is none.
  };

  void end_expired(Instant now, std::span<rounds::Seat* const> seats);

  QuantumOptions options_;
  std::map<JobId, Turn> turns_;
};

}  // namespace rubato::policy::afs
