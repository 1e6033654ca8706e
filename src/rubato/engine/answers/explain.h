// "Why is it pending?": the reason, what exactly binds, and what would change it.
#pragma once

#include <deque>
#include <string>

#include "rubato/core/decision.h"
#include "rubato/core/job.h"
#include "rubato/core/job_state.h"
#include "rubato/engine/state/state.h"

namespace rubato {

struct Explanation {
  JobId job{};
  std::string standing{};  // running, waiting, refused
  Reason reason = Reason::None;
  std::string binding{};  // The constraint with its numbers.
  std::string remedy{};   // What would change it.
};

/// The last refusals, so that their owners can still ask; those with the lowest ids are forgotten.
class Refusals {
 public:
  static constexpr std::size_t kKept = 10'000;

  struct Entry {
    Job job{};
    Verdict verdict{};
  };

  /// Replaces an earlier refusal of the same job.
  void add(const Job& job, const Verdict& verdict);
  /// Null if it was not refused, or too long ago.
  [[nodiscard]] const Entry* find(JobId job) const;
  /// In the order of their ids.
  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }

 private:
  std::deque<Entry> entries_;  // Ids rise: found by bisection.
};

[[nodiscard]] Explanation explain_active(const EngineState& state, const JobState& job,
                                         Instant now);
[[nodiscard]] Explanation explain_refusal(const EngineState& state, const Refusals::Entry& refused);

}  // namespace rubato
