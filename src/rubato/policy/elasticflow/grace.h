// Time between the moment by which a job is planned to end and the one that was promised.
//
// Real steps and changes take a little longer than planned, so live deadlines are given to the
// policy a margin early. A job that falls behind may use this margin up before it is given up: its
// plan is made for the later moment, and from then on nothing may delay it beyond what that plan
// says. Without grace, as in simulations, deadlines are what they are; but a job whose plans keep a
// quote has until the deadline its owner asked for.
#pragma once

#include <map>

#include "rubato/core/job_table.h"

namespace rubato::policy::elasticflow {

class DeadlineGrace {
 public:
  DeadlineGrace() = default;
  /// `part` of the time from a job's arrival to its deadline, but `least` at least.
  DeadlineGrace(double part, Duration least) : part_(part), least_(least) {}

  /// What a plan of the job has to keep.
  [[nodiscard]] Instant deadline(const JobState& job) const;
  /// The latest moment that keeps the promise.
  [[nodiscard]] Instant latest(const JobState& job) const;
  [[nodiscard]] bool is_given_to(const JobState& job) const {
    return latest(job) > job.job.deadline;
  }

  /// From now on the job may use its grace; false if it has none or may already.
  [[nodiscard]] bool grant(const JobState& job);
  /// Who may use grace may use all of it.
  void loosen(const JobTable& jobs);
  /// Who may use grace is to end no later than this any more; no effect on others.
  void tighten(const JobState& job, Instant finish);
  void forget(JobId job) { granted_.erase(job); }

  /// Who may use grace, and until when.
  [[nodiscard]] const std::map<JobId, Instant>& granted() const { return granted_; }
  void restore(JobId job, Instant deadline) { granted_[job] = deadline; }

 private:
  double part_ = 0;
  Duration least_{};
  std::map<JobId, Instant> granted_;
};

}  // namespace rubato::policy::elasticflow
