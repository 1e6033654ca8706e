#include "rubato/policy/chronus/lease_book.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "rubato/policy/chronus/lease_need.h"
#include "rubato/policy/rounds/fixed_rounds.h"

namespace rubato::policy::chronus {
namespace {

using rounds::Gang;

// Deadlines further away count as this far: four weeks of leases of twenty minutes.
constexpr std::int64_t kHorizonMax = 2'016;

// A new plan must be worth so much more than the old.
constexpr double kBetterMin = 1e-3;

using LeaseEntry = LeaseBook::Entry;

/// Which deadlines of a job the planner may aim for.
enum class Ends { All, LastAlone };

int relative(std::int64_t lease, std::int64_t base) {
  return static_cast<int>(std::clamp<std::int64_t>(lease - base, 0, kHorizonMax));
}

// GPUs to plan with.
int width(const Gang& gang, const View& view) {
  return std::min(rounded_gpus(gang.workers), view.topology.pool(gang.pool).gpus);
}

// The entry's leases from `base` on, counted from there.
Leases future(const LeaseEntry& entry, std::int64_t base) {
  Leases leases;
  for (const std::int64_t lease : entry.leases) {
    if (lease >= base) {
      leases.push_back(relative(lease, base));
    }
  }
  return leases;
}

// Replaces the leases from `base` on.
void set_future(LeaseEntry& entry, const Leases& leases, std::int64_t base) {
  std::erase_if(entry.leases, [&](std::int64_t lease) { return lease >= base; });
  for (const int lease : leases) {
    entry.leases.push_back(base + lease);
  }
}

// The job as the planner sees it.
LeaseJob lease_job(const JobState& job, const LeaseEntry& entry, int need, Ends ends,
                   const LeaseMoment& moment) {
  const std::int64_t base = moment.base;
  const LeaseGrid& grid = moment.grid;
  const View& view = moment.view;
  LeaseJob planned{.gpus = width(entry.gang, view),
                   .need = need,
                   .first = relative(first_lease(job, entry.gang.pool, grid, view), base)};
  if (ends == Ends::All) {
    for (const ValuedDeadline& option : deadlines_of(job)) {
      const int end = relative(grid.at(option.deadline), base);
      if (end - planned.first >= need && option.deadline < entry.deadline) {
        planned.options.push_back({.end = end, .value = option.value});
      }
    }
  }
  const std::vector<ValuedDeadline> options = deadlines_of(job);
  planned.options.push_back({.end = relative(grid.at(entry.deadline), base),
                             .value = options.empty() ? 0 : options.back().value});
  return planned;
}

// Far enough for all these entries.
std::size_t horizon_of(const std::vector<std::pair<const JobId, LeaseEntry>*>& members,
                       Instant latest, std::int64_t base, const LeaseGrid& grid) {
  int horizon = relative(grid.at(latest), base);
  for (const auto* member : members) {
    horizon = std::max(horizon, relative(grid.at(member->second.deadline), base));
  }
  return static_cast<std::size_t>(horizon);
}

// What the entries leave of the pool, lease by lease.
std::vector<int> free_beside(const std::vector<std::pair<const JobId, LeaseEntry>*>& members,
                             std::size_t horizon, int gpus, std::int64_t base, const View& view) {
  std::vector<int> free(horizon, gpus);
  for (const auto* member : members) {
    take(future(member->second, base), width(member->second.gang, view), free);
  }
  return free;
}

// Cuts down to `need` leases: the next ones if others should have them, else the last ones.
void trim(Leases& leases, int need, NextLease next) {
  const auto extra = static_cast<std::ptrdiff_t>(leases.size()) - need;
  if (extra > 0) {
    const auto from = next == NextLease::Spare ? leases.begin() : leases.end() - extra;
    leases.erase(from, from + extra);
  }
}

// Moves the leases of single jobs ahead of a better end, where there is room.
void reach_better_ends(std::span<const LeaseJob> jobs, std::vector<int> free,
                       std::vector<Leases>& leases) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    take(leases[i], jobs[i].gpus, free);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double value = value_of(jobs[i], leases[i]);
    take(leases[i], -jobs[i].gpus, free);
    for (const LeaseOption& option : jobs[i].options) {
      LeaseJob better = jobs[i];
      better.options = {option};
      const auto found = option.value > value ? latest_leases(better, free) : std::nullopt;
      if (found) {
        leases[i] = *found;
        break;
      }
    }
    take(leases[i], jobs[i].gpus, free);
  }
}

// Moves leases of single jobs into the next lease or out of it, where there is room and no value is
// lost. Often this is already the best plan, and no program need be solved.
void shift_next_lease(std::span<const LeaseJob> jobs, NextLease next, std::vector<int> free,
                      std::vector<Leases>& leases) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    take(leases[i], jobs[i].gpus, free);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Leases& own = leases[i];
    const bool uses_next = !own.empty() && own.front() == 0;
    if (own.empty() || jobs[i].first > 0 || uses_next == (next == NextLease::Use)) {
      continue;
    }
    const Leases before = own;
    const double value = value_of(jobs[i], own);
    take(own, -jobs[i].gpus, free);
    if (next == NextLease::Use && free[0] >= jobs[i].gpus) {
      own.pop_back();
      own.insert(own.begin(), 0);
    } else if (next == NextLease::Spare) {
      LeaseJob later = jobs[i];
      later.first = 1;
      std::erase_if(later.options, [&](const LeaseOption& option) { return option.value < value; });
      own = later.options.empty() ? own : latest_leases(later, free).value_or(own);
    }
    take(own, jobs[i].gpus, free);
  }
}

}  // namespace

std::vector<ValuedDeadline> deadlines_of(const JobState& job) {
  std::vector<ValuedDeadline> deadlines;
  const ValueFunction& value = job.job.value;
  if (job.job.job_class == JobClass::Soft && value.kind == ValueKind::Steps) {
    for (const ValueStep& step : value.steps) {
      deadlines.push_back({.deadline = later(job.job.arrival, step.within), .value = step.amount});
    }
  } else if (job.job.job_class != JobClass::BestEffort && job.job.has_deadline()) {
    deadlines.push_back(
        {.deadline = job.job.deadline, .value = value.at(job.job.deadline - job.job.arrival)});
  }
  return deadlines;
}

LeaseBook::Members LeaseBook::members(PoolId pool) {
  Members found;
  for (auto& member : entries_) {
    if (member.second.gang.pool == pool) {
      found.push_back(&member);
    }
  }
  return found;
}

// Lays all jobs of the pool out anew, with as many leases as they have, to make room.
std::optional<LeaseBook::Entry> LeaseBook::place_anew(const JobState& job, const Entry& wanted,
                                                      const LeaseJob& planned,
                                                      const LeaseMoment& moment) {
  const std::int64_t base = moment.base;
  const LeaseGrid& grid = moment.grid;
  const View& view = moment.view;
  const Members others = members(wanted.gang.pool);
  if (others.empty() || others.size() > static_cast<std::size_t>(options_.jobs_max)) {
    return std::nullopt;
  }
  std::vector<LeaseJob> jobs{planned};
  for (const auto* other : others) {
    const auto need = static_cast<int>(future(other->second, base).size());
    jobs.push_back(
        lease_job(view.jobs.at(other->first), other->second, need, Ends::LastAlone, moment));
  }
  const std::size_t horizon = horizon_of(others, wanted.deadline, base, grid);
  const LatestFit fit =
      latest_fit(jobs, std::vector<int>(horizon, view.capacity[wanted.gang.pool.value]));
  if (!fit.unfit.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    set_future(others[i]->second, fit.leases[i + 1], base);
  }
  Entry entry = wanted;
  set_future(entry, fit.leases[0], base);
  entries_[job.id()] = entry;
  return entry;
}

std::optional<LeaseBook::Entry> LeaseBook::place(const JobState& job, const Gang& gang,
                                                 Instant deadline, const LeaseMoment& moment) {
  const std::int64_t base = moment.base;
  const LeaseGrid& grid = moment.grid;
  const View& view = moment.view;
  Entry entry{.gang = gang, .deadline = deadline};
  const int need = leases_needed(job, gang, /*holds_present=*/false, moment);
  const LeaseJob planned = lease_job(job, entry, need, Ends::LastAlone, moment);
  const Members others = members(gang.pool);
  const std::vector<int> free = free_beside(others, horizon_of(others, deadline, base, grid),
                                            view.capacity[gang.pool.value], base, view);
  if (const auto leases = latest_leases(planned, free)) {
    set_future(entry, *leases, base);
    entries_[job.id()] = entry;
    return entry;
  }
  return place_anew(job, entry, planned, moment);
}

LeaseBook::Admission LeaseBook::admit(const JobState& job, std::int64_t base, const LeaseGrid& grid,
                                      const View& view) {
  Admission answer;
  const LeaseMoment moment{.base = base, .grid = grid, .view = view};
  const Instant deadline = deadlines_of(job).back().deadline;
  const std::vector<Gang> gangs = rounds::gangs_of(job, view);
  for (const Gang& gang : gangs) {
    if (place(job, gang, deadline, moment)) {
      answer.promised = deadline;
      return answer;
    }
    const int need = leases_needed(job, gang, /*holds_present=*/false, moment);
    const std::int64_t first = std::max(base, first_lease(job, gang.pool, grid, view));
    answer.alone = answer.alone || (grid.at(deadline) - first >= need &&
                                    gang.workers <= view.capacity[gang.pool.value]);
  }
  // The smallest later deadline that fits, up to the tolerance: places are tried lease by lease.
  const double distance = to_seconds(deadline - job.job.arrival);
  const Instant latest = later(job.job.arrival, from_seconds(distance * options_.tolerance));
  for (std::int64_t lease = std::max(base, grid.at(deadline) + 1); lease <= grid.at(latest);
       ++lease) {
    for (const Gang& gang : gangs) {
      if (place(job, gang, grid.start(lease), moment)) {
        answer.promised = grid.start(lease);
        return answer;
      }
    }
  }
  return answer;
}

// After a fault the holders of the running lease may be too many: who still runs keeps it first,
// then who is due first.
void LeaseBook::shed_present(const Members& all, std::int64_t present, const View& view) {
  Members holders;
  for (auto* member : all) {
    if (holds(member->first, present)) {
      holders.push_back(member);
    }
  }
  std::ranges::sort(holders, {}, [&](const auto* member) {
    const bool waits = view.jobs.at(member->first).share == 0;
    return std::tuple(waits, member->second.deadline, member->first);
  });
  int left = holders.empty() ? 0 : view.capacity[holders.front()->second.gang.pool.value];
  for (auto* member : holders) {
    if (member->second.gang.workers <= left) {
      left -= member->second.gang.workers;
    } else {
      std::erase(member->second.leases, present);
    }
  }
}

void LeaseBook::settle_pool(PoolId pool, NextLease next, const LeaseMoment& moment,
                            std::vector<JobId>& lost) {
  const std::int64_t base = moment.base;
  const LeaseGrid& grid = moment.grid;
  const View& view = moment.view;
  const Members all = members(pool);
  const bool is_within_lease = grid.start(base) > view.now;
  if (is_within_lease) {
    shed_present(all, base - 1, view);
  }
  std::vector<LeaseJob> jobs;
  for (auto* member : all) {
    Entry& entry = member->second;
    const JobState& job = view.jobs.at(member->first);
    std::erase_if(entry.leases, [&](std::int64_t lease) { return lease < base - 1; });
    const bool holds_present = is_within_lease && holds(member->first, base - 1);
    const int need = leases_needed(job, entry.gang, holds_present, moment);
    jobs.push_back(lease_job(job, entry, need, Ends::LastAlone, moment));
    Leases leases = future(entry, base);
    trim(leases, need, next);
    set_future(entry, leases, base);
  }
  const std::size_t horizon = horizon_of(all, grid.start(base), base, grid);
  std::vector<int> free = free_beside(all, horizon, view.capacity[pool.value], base, view);
  bool is_sound = std::ranges::all_of(free, [](int gpus) { return gpus >= 0; });
  for (std::size_t i = 0; i < all.size() && is_sound; ++i) {
    const Leases leases = future(all[i]->second, base);
    if (static_cast<int>(leases.size()) < jobs[i].need) {
      take(leases, -jobs[i].gpus, free);
      const auto found = latest_leases(jobs[i], free);
      is_sound = found.has_value();
      if (found) {
        take(*found, jobs[i].gpus, free);
        set_future(all[i]->second, *found, base);
      }
    }
  }
  if (is_sound) {
    return;
  }
  const LatestFit fit = latest_fit(jobs, std::vector<int>(horizon, view.capacity[pool.value]));
  for (std::size_t i = 0; i < all.size(); ++i) {
    set_future(all[i]->second, fit.leases[i], base);
  }
  for (const std::size_t unfit : fit.unfit) {
    lost.push_back(all[unfit]->first);
  }
}

std::vector<JobId> LeaseBook::settle(std::int64_t base, NextLease next, const LeaseGrid& grid,
                                     const View& view) {
  std::vector<JobId> lost;
  for (const Pool& pool : view.topology.pools()) {
    settle_pool(pool.id, next, {.base = base, .grid = grid, .view = view}, lost);
  }
  for (const JobId job : lost) {
    entries_.erase(job);
  }
  return lost;
}

void LeaseBook::improve_pool(PoolId pool, NextLease next, const LeaseMoment& moment) {
  const std::int64_t base = moment.base;
  const LeaseGrid& grid = moment.grid;
  const View& view = moment.view;
  Members all = members(pool);
  std::ranges::sort(all, {}, [](const auto* member) {
    return std::tuple(member->second.deadline, member->first);
  });
  std::vector<LeaseJob> jobs;
  std::vector<Leases> present;
  int cells = 0;
  for (const auto* member : all) {
    Leases leases = future(member->second, base);
    LeaseJob job = lease_job(view.jobs.at(member->first), member->second,
                             static_cast<int>(leases.size()), Ends::All, moment);
    cells += job.options.back().end - job.first;
    if (cells > options_.cells_max || jobs.size() >= static_cast<std::size_t>(options_.jobs_max)) {
      break;
    }
    jobs.push_back(std::move(job));
    present.push_back(std::move(leases));
  }
  const Members rest(all.begin() + static_cast<std::ptrdiff_t>(jobs.size()), all.end());
  const int gpus = view.capacity[pool.value];
  const std::vector<int> free =
      free_beside(rest, horizon_of(all, grid.start(base), base, grid), gpus, base, view);
  if (jobs.empty() || free.empty()) {
    return;
  }
  reach_better_ends(jobs, free, present);
  shift_next_lease(jobs, next, free, present);
  const double worth = lease_worth(jobs, present, gpus, next);
  if (lease_worth_bound(jobs, free, gpus, next) >= worth + kBetterMin) {
    SolveLimits limits = options_.limits;
    limits.cutoff = worth + kBetterMin;
    auto best = best_leases(jobs, free, gpus, next, limits);
    if (best && lease_worth(jobs, *best, gpus, next) > worth + 1e-9) {
      present = std::move(*best);
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    set_future(all[i]->second, present[i], base);
  }
}

void LeaseBook::improve(std::int64_t base, NextLease next, const LeaseGrid& grid,
                        const View& view) {
  for (const Pool& pool : view.topology.pools()) {
    improve_pool(pool.id, next, {.base = base, .grid = grid, .view = view});
  }
}

bool LeaseBook::holds(JobId job, std::int64_t lease) const {
  const auto found = entries_.find(job);
  return found != entries_.end() && std::ranges::binary_search(found->second.leases, lease);
}

std::int64_t LeaseBook::slack(JobId job, std::int64_t base, const LeaseGrid& grid) const {
  const Entry& entry = entries_.at(job);
  return grid.at(entry.deadline) - base - static_cast<std::int64_t>(future(entry, base).size());
}

Plan LeaseBook::plan_of(JobId job, const LeaseGrid& grid, Instant now) const {
  Plan plan;
  const auto found = entries_.find(job);
  if (found == entries_.end()) {
    return plan;
  }
  const Entry& entry = found->second;
  plan.pool = entry.gang.pool;
  for (const std::int64_t lease : entry.leases) {
    const Instant from = std::max(now, grid.start(lease));
    const Instant to = grid.start(lease + 1);
    if (to <= now) {
      continue;
    }
    if (!plan.segments.empty() && plan.segments.back().to == from) {
      plan.segments.back().to = to;
    } else {
      plan.segments.push_back({.from = from, .to = to, .workers = entry.gang.workers});
    }
  }
  return plan;
}

// Leases in a row are one line.
void LeaseBook::save(std::string& state) const {
  for (const auto& [id, entry] : entries_) {
    const auto job = static_cast<std::int64_t>(id.value);
    append_line(state, "entry",
                {job, static_cast<std::int64_t>(entry.gang.pool.value), entry.gang.workers,
                 entry.deadline.time_since_epoch().count()});
    for (std::size_t i = 0; i < entry.leases.size();) {
      std::size_t end = i + 1;
      while (end < entry.leases.size() && entry.leases[end] == entry.leases[end - 1] + 1) {
        ++end;
      }
      append_line(state, "leases", {job, entry.leases[i], static_cast<std::int64_t>(end - i)});
      i = end;
    }
  }
}

bool LeaseBook::restore(const SavedLine& line) {
  const std::vector<std::int64_t>& numbers = line.numbers;
  if (line.word == "entry" && numbers.size() == 4) {
    entries_[JobId{static_cast<std::uint64_t>(numbers[0])}] =
        Entry{.gang = {.pool = PoolId{static_cast<std::uint64_t>(numbers[1])},
                       .workers = static_cast<int>(numbers[2])},
              .deadline = Instant{Duration{numbers[3]}}};
    return true;
  }
  if (line.word == "leases" && numbers.size() == 3 && numbers[2] <= kHorizonMax) {
    Entry& entry = entries_[JobId{static_cast<std::uint64_t>(numbers[0])}];
    for (std::int64_t i = 0; i < numbers[2]; ++i) {
      entry.leases.push_back(numbers[1] + i);
    }
    return true;
  }
  return false;
}

}  // namespace rubato::policy::chronus
