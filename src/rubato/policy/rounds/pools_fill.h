// Fills several pools with gangs in order of rank: whoever's turn it is takes the first pool with
// room.
//
// The outcome is that of the plain walk: all jobs in rank order. One that runs goes on if its GPUs
// are still free; if not, it moves to the best other pool that has room, else it stops. One that
// waits starts in the best pool that has room, else it is skipped. With one pool this is
// priority_fill.h, which does it at a cost that grows with what changes; with several the running
// jobs are walked, but of the waiting ones with the same choices only as many as start.
#pragma once

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/rounds/priority_fill.h"

namespace rubato::policy::rounds {

/// The jobs of all pools.
class PoolsFill {
 public:
  /// Must be told, before the first job, how many pools there are; afterwards it changes nothing.
  void resize(std::size_t pools) { is_single_ = pools == 1; }

  /// Adds the job or, if it is known, changes its rank and state. `choices` are the gangs it may
  /// have, best first.
  void wait(const Rank& rank, const std::vector<Gang>& choices);
  void run(const Rank& rank, const Gang& where, const std::vector<Gang>& choices);
  /// No effect if the job is unknown.
  void erase(JobId job);
  void clear();

  struct Seat {
    JobId job{};
    Gang where{};
  };

  /// In rank order.
  struct Changes {
    std::vector<JobId> stops{};
    std::vector<Seat> moves{};
    std::vector<Seat> starts{};
  };

  /// What the walk would change on these GPUs, one number for each pool; changes nothing itself.
  /// The ranks of running jobs count as `lead` lower than given.
  [[nodiscard]] Changes fill(std::span<const int> capacity, std::int64_t lead = 0) const;

  /// The running jobs, in rank order.
  [[nodiscard]] std::vector<Rank> running() const;

 private:
  struct Running {
    Gang where{};
    std::vector<Gang> choices{};
  };
  using Line = std::set<Rank>;
  struct Entry {
    Rank rank{};
    const std::vector<Gang>* line = nullptr;  // The key of its line; null if it runs.
  };

  [[nodiscard]] Changes walk(std::span<const int> capacity, std::int64_t lead) const;

  bool is_single_ = false;
  PriorityFill single_;  // All jobs if there is one pool; else none, and the following have them.
  std::unordered_map<JobId, Entry> entries_;  // Looked up, never walked.
  std::map<Rank, Running> running_;
  std::map<std::vector<Gang>, Line> waiting_;  // By choices. Lines that fell empty stay.
};

}  // namespace rubato::policy::rounds
