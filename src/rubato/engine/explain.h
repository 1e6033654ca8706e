// "Why is it pending?": the reason, what exactly binds, and what would change it.
#pragma once

#include <deque>
#include <string>

#include "rubato/core/decision.h"
#include "rubato/core/job.h"
#include "rubato/core/job_state.h"
#include "rubato/engine/state.h"

namespace rubato {

struct Explanation {
  JobId job{};
  std::string standing{};  // running, waiting, refused
  Reason reason = Reason::None;
  std::string binding{};  // The constraint with its numbers.
  std::string remedy{};   // What would change it.
};

/// The last refusals, so that their owners can still ask; older ones are forgotten.
class Refusals {
 public:
  static constexpr std::size_t kKept = 10'000;

  void add(const Job& job, const Verdict& verdict);
  [[nodiscard]] const Verdict* find(JobId job) const;
  [[nodiscard]] const Job* job(JobId job) const;

 private:
  struct Entry {
    Job job{};
    Verdict verdict{};
  };
  [[nodiscard]] const Entry* entry(JobId job) const;

  std::deque<Entry> entries_;  // Ids rise: found by bisection.
};

[[nodiscard]] Explanation explain_active(const EngineState& state, const JobState& job,
                                         Instant now);
[[nodiscard]] Explanation explain_refusal(const EngineState& state, const Job& job,
                                          const Verdict& verdict);

}  // namespace rubato
