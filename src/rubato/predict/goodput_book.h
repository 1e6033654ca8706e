// What is known about how fast each job learns: its observations, and the models fitted to them.
//
// As in Pollux (OSDI'21) a job starts with nothing and is fitted anew whenever it was seen with a
// number of nodes, workers or samples it was not seen with before. With `shares` jobs of one model
// learn from each other: a newcomer starts with what others have shown.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/core/event.h"
#include "rubato/core/job.h"
#include "rubato/predict/goodput.h"

namespace rubato {

/// One job on one pool.
struct PoolGoodput {
  std::vector<StepObservation> seen{};  // One for each (nodes, workers, local batch).
  std::optional<ThroughputModel> model{};
  int workers_seen = 0;  // The most there were.
};

struct JobGoodput {
  BatchLimits limits{};  // On all pools but those that have their own:
  std::map<PoolId, BatchLimits> limits_there{};
  std::optional<GradientNoise> noise{};
  std::map<PoolId, PoolGoodput> pools{};
  long version = 0;  // Rises when anything above changes.

  [[nodiscard]] const PoolGoodput* on(PoolId pool) const;
  /// GPU types differ in how many samples they take at a time.
  [[nodiscard]] const BatchLimits& limits_on(PoolId pool) const;
  /// The best way to run; no rate without a model of the pool.
  [[nodiscard]] Goodput best(PoolId pool, int nodes, const BatchSizes& sizes) const;
  /// The batch to train with: the best known, else the least that this many workers permit.
  [[nodiscard]] BatchSplit split(PoolId pool, int nodes, int workers) const;
};

/// Deterministic in its calls.
class GoodputBook {
 public:
  explicit GoodputBook(bool shares = false) : shares_(shares) {}

  /// Only for jobs whose batch can adapt. `local_limits`, by pool, narrow what its workers take at
  /// a time; a pool whose limits leave nothing, or that has none, permits what the job does.
  void arrive(const Job& job, std::span<const BatchLimits> local_limits = {});
  void leave(JobId job);
  void observe(const Job& job, PoolId pool, const StepObservation& step);

  /// All that it knows beside how it was made; a copy that is given it answers the same.
  struct Contents {
    std::map<JobId, JobGoodput> jobs{};
    std::map<std::string, JobGoodput> models{};  // What jobs of a model have shown together.
  };
  [[nodiscard]] const Contents& contents() const { return contents_; }
  void restore(Contents contents) { contents_ = std::move(contents); }

  /// Null for jobs whose batch cannot adapt.
  [[nodiscard]] const JobGoodput* find(JobId job) const;

 private:
  bool shares_;
  Contents contents_;
};

}  // namespace rubato
