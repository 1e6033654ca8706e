// Who holds which leases: admits jobs whose deadline can be kept, and keeps it.
//
// The guarantee: a job in the book has enough future leases, all before its deadline, for the work
// it has left, with the pause of a start in each of them. Admission, renewal at each lease and
// repair after faults only replace leases by others that keep this; a job for which that fails is
// handed back as lost. Every pool has a book of its own in here; plans of pools do not touch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rubato/core/plan.h"
#include "rubato/policy/chronus/lease_grid.h"
#include "rubato/policy/chronus/lease_need.h"
#include "rubato/policy/chronus/lease_plan.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/saved_state.h"
#include "rubato/policy/view.h"

namespace rubato::policy::chronus {

struct LeaseBookOptions {
  double tolerance = 1;   // A deadline may be put off to this multiple of its distance.
  int jobs_max = 400;     // In one program, and for laying out all jobs anew.
  int cells_max = 1'500;  // Jobs times leases in one program.
  SolveLimits limits{.nodes_max = 10, .iterations_max = 5'000, .gap = 1e-4};
};

/// Numbers of leases are absolute: number n begins at n lease lengths from time zero.
class LeaseBook {
 public:
  struct Entry {
    rounds::Gang gang{};
    Instant deadline{};                  // The last one, by which it is guaranteed to finish.
    std::vector<std::int64_t> leases{};  // Rising.
  };

  explicit LeaseBook(LeaseBookOptions options) : options_(options) {}

  /// Leases from number `base` on before the job's last deadline, beside all others; nothing if
  /// there are too few. `alone` tells whether an empty cluster would do.
  struct Admission {
    std::optional<Instant> promised{};
    bool alone = false;
  };
  [[nodiscard]] Admission admit(const JobState& job, std::int64_t base, const LeaseGrid& grid,
                                const View& view);
  void erase(JobId job) { entries_.erase(job); }
  [[nodiscard]] bool contains(JobId job) const { return entries_.contains(job); }
  [[nodiscard]] const std::map<JobId, Entry>& entries() const { return entries_; }

  /// Fits all leases from number `base` on to the work that is left and the GPUs that are up.
  /// Returns the jobs whose deadline can no longer be guaranteed; they have left the book.
  [[nodiscard]] std::vector<JobId> settle(std::int64_t base, NextLease next, const LeaseGrid& grid,
                                          const View& view);
  /// At the beginning of lease `base`: the best leases by value, within the limits of work.
  void improve(std::int64_t base, NextLease next, const LeaseGrid& grid, const View& view);

  /// Jobs that hold a lease.
  [[nodiscard]] bool holds(JobId job, std::int64_t lease) const;
  /// Leases between what the job needs and its deadline.
  [[nodiscard]] std::int64_t slack(JobId job, std::int64_t base, const LeaseGrid& grid) const;
  [[nodiscard]] Plan plan_of(JobId job, const LeaseGrid& grid, Instant now) const;

  void save(std::string& state) const;
  /// False if the line is not one of ours.
  [[nodiscard]] bool restore(const SavedLine& line);
  void clear() { entries_.clear(); }

 private:
  using Members = std::vector<std::pair<const JobId, Entry>*>;

  [[nodiscard]] Members members(PoolId pool);
  [[nodiscard]] std::optional<Entry> place(const JobState& job, const rounds::Gang& gang,
                                           Instant deadline, const LeaseMoment& moment);
  [[nodiscard]] std::optional<Entry> place_anew(const JobState& job, const Entry& wanted,
                                                const LeaseJob& planned, const LeaseMoment& moment);
  void shed_present(const Members& all, std::int64_t present, const View& view);
  void settle_pool(PoolId pool, NextLease next, const LeaseMoment& moment,
                   std::vector<JobId>& lost);
  void improve_pool(PoolId pool, NextLease next, const LeaseMoment& moment);

  LeaseBookOptions options_;
  std::map<JobId, Entry> entries_;
};

/// Deadlines and what meeting them is worth, rising; empty if the job has none.
struct ValuedDeadline {
  Instant deadline{};
  double value = 0;
};
[[nodiscard]] std::vector<ValuedDeadline> deadlines_of(const JobState& job);

}  // namespace rubato::policy::chronus
