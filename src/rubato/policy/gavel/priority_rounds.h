// Gavel's mechanism: rounds in which jobs come close to the time fractions they should have.
//
// Narayanan et al., OSDI'20, section 5. The priority of a job in a pool is the fraction of time it
// should run there over the fraction it did (a billion times the fraction if it never did). At each
// round the highest priorities that fit run; each job runs in one pool at most.
//
// Differences: fractions are computed anew at each round and not at each arrival and completion,
// whose effect begins there in any case. What a job received fades with a half-life, where the
// published code forgets all of it at each arrival and completion, which under steady arrivals
// leaves nothing to go by. GPUs that are still free go to jobs that should not run there at all:
// jobs in order of arrival, each in its fastest pool. Space sharing (two jobs on one GPU) is left
// out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rubato/policy/options.h"
#include "rubato/policy/rounds/fixed_rounds.h"

namespace rubato::policy::gavel {

struct PriorityRoundsOptions {
  Duration round = from_seconds(360);
  Duration half_life = from_seconds(3600);  // Of what a job received, in the eyes of priorities.
};

/// `round=360`, `half_life=3600`; other keys are the caller's to check.
[[nodiscard]] Result<PriorityRoundsOptions> priority_rounds_options(const PolicyOptions& options);

/// A job that could run now.
struct RoundContender {
  const JobState* job = nullptr;
  std::vector<rounds::Gang> gangs{};  // One per pool that has enough GPUs up.

  /// Its gain vectors have one entry per pool of the cluster; these fill them.
  [[nodiscard]] double speed(std::size_t gang, const View& view) const {
    return view.speed(*job, gangs[gang].pool, gangs[gang].workers);
  }
};

/// Derived classes say which fractions are right.
class PriorityRounds : public rounds::FixedRounds {
 public:
  explicit PriorityRounds(PriorityRoundsOptions options)
      : rounds::FixedRounds(options.round), options_(options) {}

  [[nodiscard]] std::string save() const override;

 protected:
  /// Per contender and pool of the cluster.
  [[nodiscard]] virtual std::vector<std::vector<double>> fractions(
      const std::vector<RoundContender>& contenders, const View& view) = 0;

  void joins(const JobState& job, const View& view) override;
  void leaves(JobId job) override { received_.erase(job); }
  [[nodiscard]] std::vector<Target> hold_round(const View& view) final;
  [[nodiscard]] Status restore(const SavedLine& line) override;
  void clear() override { received_.clear(); }

 private:
  /// Seconds, faded.
  struct Received {
    double present = 0;             // Since the job joined.
    std::map<PoolId, double> in{};  // While it ran, per pool.
  };

  void remember(const View& view);
  [[nodiscard]] double priority(JobId job, PoolId pool, double fraction) const;

  PriorityRoundsOptions options_;
  std::map<JobId, Received> received_;
};

}  // namespace rubato::policy::gavel
