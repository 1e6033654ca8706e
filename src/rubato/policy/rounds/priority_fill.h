// Fills a pool with gangs in order of rank, at a cost that grows with what changes.
//
// The outcome is that of the plain walk: all jobs in rank order, each runs if its GPUs are still
// free and is skipped (stopped, if it was running) if not. But nobody is walked past whose state
// stays as it is: running jobs fit together, so one can be pushed out only near the end of the
// line, by jobs that start ahead of it; and of the waiting jobs of one width only the first can be
// next to start.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"

namespace rubato::policy::rounds {

/// A job's place in line: lower goes first, ties by (arrival, id).
struct Rank {
  std::int64_t value = 0;
  Instant arrival{};
  JobId job{};

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

/// The jobs of one pool.
class PriorityFill {
 public:
  /// Adds the job or, if it is known, changes its rank and state.
  void wait(const Rank& rank, int workers);
  void run(const Rank& rank, int workers);
  /// No effect if the job is unknown.
  void erase(JobId job);

  /// In rank order.
  struct Changes {
    std::vector<JobId> stops{};
    std::vector<JobId> starts{};
  };

  /// What the walk would change on this many GPUs; changes nothing itself. The ranks of running
  /// jobs count as `lead` lower than given, so that run time left can be kept as a finish time.
  [[nodiscard]] Changes fill(int capacity, std::int64_t lead = 0) const;

  /// The running jobs and their GPUs, in rank order.
  [[nodiscard]] const std::map<Rank, int>& running() const { return running_; }
  [[nodiscard]] int running_gpus() const { return running_gpus_; }
  /// GPUs of a job that is known.
  [[nodiscard]] int workers(JobId job) const { return entries_.at(job).workers; }

 private:
  using Line = std::map<Rank, int>;  // Jobs and their GPUs.
  struct Entry {
    Rank rank{};
    int workers = 0;
    bool runs = false;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  class Walk;

  void put(const Entry& entry);
  [[nodiscard]] Line& line_for(const Entry& entry) {
    return entry.runs ? running_ : waiting_[entry.workers];
  }
  Line::node_type take_out(const Entry& entry);

  std::unordered_map<JobId, Entry> entries_;  // Looked up, never walked.
  Line running_;
  std::map<int, Line> waiting_;  // By width; no empty lines.
  int running_gpus_ = 0;
};

}  // namespace rubato::policy::rounds
