#include "rubato/policy/chronus/chronus.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "rubato/policy/chronus/lease_need.h"
#include "rubato/policy/rounds/fixed_rounds.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::chronus {
namespace {

using rounds::Gang;

/// What a job is owed; guaranteed jobs stand in the book as well.
enum class LeaseStanding { BestEffort, Demoted, Guaranteed, Lost };

/// In what order jobs get GPUs that no lease needs.
enum class SpotClass { Lost, ByWorkLeft, AheadOfPlan, Hopeless };

struct SpotJob {
  SpotClass spot_class = SpotClass::ByWorkLeft;
  double key = 0;  // Smallest first.
  const JobState* job = nullptr;

  [[nodiscard]] auto rank() const {
    return std::tuple(spot_class, key, job->job.arrival, job->id());
  }
};

class Chronus final : public Policy {
 public:
  explicit Chronus(ChronusOptions options) : options_(options), book_(options.book) {}

  [[nodiscard]] Traits traits() const override {
    return Traits{.resizes = false, .promises = true, .artifact_charge = ArtifactCharge::OnStart};
  }
  [[nodiscard]] Decision on(const Event& event, const View& view) override;
  [[nodiscard]] std::string save() const override;
  [[nodiscard]] Status load(std::string_view state) override;

 private:
  [[nodiscard]] LeaseGrid grid(const View& view) const {
    return {options_.lease, options_.tick, view.slot};
  }
  [[nodiscard]] std::int64_t next_lease(const View& view) const;
  [[nodiscard]] Instant next_tick(const View& view) const;
  [[nodiscard]] NextLease next_lease_use() const;
  [[nodiscard]] Verdict judge(const JobState& job, const View& view);
  void settle(std::int64_t base, const View& view);
  [[nodiscard]] bool after_report(const JobState& job, const View& view);
  void show_plans(const View& view, Decision& decision) const;
  void hold_round(const View& view, Decision& decision);
  [[nodiscard]] SpotJob spot_job(const JobState& job, const View& view) const;
  void fill_spot(std::vector<int>& free, const View& view, std::vector<Target>& targets) const;

  ChronusOptions options_;
  LeaseBook book_;
  std::map<JobId, LeaseStanding> standings_;  // All admitted jobs.
  Instant held_ = kNever;                     // The last tick.
};

// The first lease that can still be planned.
std::int64_t Chronus::next_lease(const View& view) const {
  const std::int64_t lease = grid(view).from(view.now);
  return held_ == view.now && grid(view).start(lease) == view.now ? lease + 1 : lease;
}

Instant Chronus::next_tick(const View& view) const {
  const Instant tick = grid(view).tick_from(view.now);
  return held_ == tick ? tick + grid(view).tick() : tick;
}

NextLease Chronus::next_lease_use() const {
  const bool someone_waits = std::ranges::any_of(
      standings_, [](const auto& each) { return each.second == LeaseStanding::Demoted; });
  return someone_waits ? NextLease::Spare : NextLease::Use;
}

Verdict Chronus::judge(const JobState& job, const View& view) {
  Verdict verdict{.job = job.id(), .reason = rounds::why_unrunnable(job, view)};
  if (verdict.reason != Reason::None) {
    verdict.kind = VerdictKind::Refuse;
    return verdict;
  }
  const std::vector<ValuedDeadline> deadlines = deadlines_of(job);
  if (deadlines.empty()) {
    standings_[job.id()] = LeaseStanding::BestEffort;
    return verdict;
  }
  const auto [promised, alone] = book_.admit(job, next_lease(view), grid(view), view);
  if (promised) {
    standings_[job.id()] = LeaseStanding::Guaranteed;
    verdict.promised = *promised;
    return verdict;
  }
  standings_[job.id()] = LeaseStanding::Demoted;
  verdict.reason = alone                                   ? Reason::PromisesInTheWay
                   : deadlines.back().deadline <= view.now ? Reason::DeadlinePassed
                                                           : Reason::DeadlineTooSoon;
  // A soft deadline that is not guaranteed is still one.
  verdict.kind = job.job_class == JobClass::Slo ? VerdictKind::Demote : VerdictKind::Admit;
  return verdict;
}

void Chronus::settle(std::int64_t base, const View& view) {
  for (const JobId lost : book_.settle(base, next_lease_use(), grid(view), view)) {
    standings_[lost] = LeaseStanding::Lost;
  }
}

// Only a report that shows less progress than the leases need is worth new plans; true if so.
bool Chronus::after_report(const JobState& job, const View& view) {
  const auto found = book_.entries().find(job.id());
  if (found == book_.entries().end()) {
    return false;
  }
  const std::int64_t base = next_lease(view);
  const LeaseGrid time = grid(view);
  const bool holds_present = time.start(base) > view.now && book_.holds(job.id(), base - 1);
  const int need = leases_needed(job, found->second.gang, holds_present,
                                 LeaseMoment{.base = base, .grid = time, .view = view});
  const auto have = std::ranges::count_if(found->second.leases,
                                          [&](std::int64_t lease) { return lease >= base; });
  if (need > have) {
    settle(base, view);
  }
  return need > have;
}

// The part of a plan that is not over.
Plan rest_of(const Plan& plan, Instant now) {
  Plan rest{.pool = plan.pool};
  for (const PlanSegment& segment : plan.segments) {
    if (segment.to > now) {
      rest.segments.push_back(
          {.from = std::max(segment.from, now), .to = segment.to, .workers = segment.workers});
    }
  }
  return rest;
}

// Plans that changed; those of jobs that lost their leases are taken back.
void Chronus::show_plans(const View& view, Decision& decision) const {
  for (const auto& [id, standing] : standings_) {
    const JobState& job = view.jobs.at(id);
    const Plan plan = book_.plan_of(id, grid(view), view.now);
    const Plan shown = rest_of(job.plan, view.now);
    if (plan.segments != shown.segments) {
      decision.plans.push_back(JobPlan{.job = id, .plan = plan});
    }
  }
}

SpotJob Chronus::spot_job(const JobState& job, const View& view) const {
  const Gang gang = *rounds::gang_of(job, view);
  const Duration left = rounds::run_time_left(job, gang, view);
  SpotJob spot{.key = to_seconds(left) * gang.workers, .job = &job};
  switch (standings_.at(job.id())) {
    case LeaseStanding::Lost:
      spot.spot_class = SpotClass::Lost;
      spot.key = 0;
      break;
    case LeaseStanding::Guaranteed: {
      const std::int64_t slack = book_.slack(job.id(), next_lease(view), grid(view));
      spot.spot_class = SpotClass::AheadOfPlan;
      spot.key = static_cast<double>(slack) * gang.workers;
      break;
    }
    case LeaseStanding::Demoted: {
      const Instant lease_end = grid(view).start(grid(view).at(view.now) + 1);
      if (later(view.now, left) > deadlines_of(job).back().deadline) {
        spot.spot_class = SpotClass::Hopeless;
      } else if (job.share > 0 && later(view.now, left) <= lease_end) {
        spot.key = -1;
      }
      break;
    }
    case LeaseStanding::BestEffort:
      break;
  }
  return spot;
}

// Jobs take the pool they are in, if it has room, else the first that has; guaranteed ones only
// their own.
void Chronus::fill_spot(std::vector<int>& free, const View& view,
                        std::vector<Target>& targets) const {
  std::set<JobId> chosen;
  for (const Target& target : targets) {
    chosen.insert(target.job);
  }
  std::vector<SpotJob> order;
  for (const auto& [id, standing] : standings_) {
    if (!chosen.contains(id)) {
      order.push_back(spot_job(view.jobs.at(id), view));
    }
  }
  std::ranges::sort(order, {}, &SpotJob::rank);
  for (const SpotJob& spot : order) {
    const JobState& job = *spot.job;
    const auto entry = book_.entries().find(job.id());
    std::vector<Gang> gangs = entry != book_.entries().end() ? std::vector<Gang>{entry->second.gang}
                                                             : rounds::gangs_of(job, view);
    std::ranges::stable_sort(
        gangs, {}, [&](const Gang& gang) { return job.share == 0 || gang.pool != job.pool(); });
    for (const Gang& gang : gangs) {
      if (gang.workers <= free[gang.pool.value]) {
        free[gang.pool.value] -= gang.workers;
        targets.push_back(Target{.job = job.id(), .pool = gang.pool, .workers = gang.workers});
        break;
      }
    }
  }
}

void Chronus::hold_round(const View& view, Decision& decision) {
  const LeaseGrid time = grid(view);
  const std::int64_t lease = time.at(view.now);
  if (time.start(lease) == view.now) {
    settle(lease, view);
    book_.improve(lease, next_lease_use(), time, view);
  }
  held_ = view.now;
  std::vector<int> free(view.capacity.begin(), view.capacity.end());
  std::vector<Target> targets;
  for (const auto& [id, entry] : book_.entries()) {
    int& left = free[entry.gang.pool.value];
    if (book_.holds(id, lease) && entry.gang.workers <= left) {
      left -= entry.gang.workers;
      targets.push_back(Target{.job = id, .pool = entry.gang.pool, .workers = entry.gang.workers});
    }
  }
  fill_spot(free, view, targets);
  rounds::run_only(targets, view, decision);
  decision.is_round = !decision.targets.empty();
}

Decision Chronus::on(const Event& event, const View& view) {
  Decision decision;
  bool plans_may_change = true;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    decision.verdicts.push_back(judge(view.jobs.at(arrival->job.id), view));
    plans_may_change = decision.verdicts.front().promised != kNever;
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    book_.erase(completion->job);
    standings_.erase(completion->job);
    plans_may_change = false;
  } else if (std::holds_alternative<NodeChange>(event)) {
    settle(next_lease(view), view);
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    const JobState* job = view.jobs.find(report->job);
    plans_may_change = job != nullptr && after_report(*job, view);
  } else if (std::holds_alternative<Tick>(event)) {
    hold_round(view, decision);
  }
  if (plans_may_change) {
    show_plans(view, decision);
  }
  decision.wake_at = standings_.empty() ? kNever : next_tick(view);
  return decision;
}

std::string Chronus::save() const {
  std::string state;
  append_line(state, "held", {held_.time_since_epoch().count()});
  for (const auto& [id, standing] : standings_) {
    append_line(state, "job",
                {static_cast<std::int64_t>(id.value), static_cast<std::int64_t>(standing)});
  }
  book_.save(state);
  return state;
}

Status Chronus::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  standings_.clear();
  book_.clear();
  held_ = kNever;
  for (const SavedLine& line : *lines) {
    const std::vector<std::int64_t>& numbers = line.numbers;
    if (line.word == "held" && numbers.size() == 1) {
      held_ = Instant{Duration{numbers[0]}};
    } else if (line.word == "job" && numbers.size() == 2 && numbers[1] >= 0 &&
               numbers[1] <= static_cast<std::int64_t>(LeaseStanding::Lost)) {
      standings_[JobId{static_cast<std::uint64_t>(numbers[0])}] =
          static_cast<LeaseStanding>(numbers[1]);
    } else if (!book_.restore(line)) {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Policy> make_chronus(ChronusOptions options) {
  return std::make_unique<Chronus>(options);
}

Result<std::unique_ptr<Policy>> make_chronus(const PolicyOptions& options) {
  static constexpr std::array<std::string_view, 5> kKeys = {"lease", "tick", "tolerance",
                                                            "jobs_max", "cells_max"};
  if (Status status = options.only(kKeys); !status) {
    return status.error();
  }
  ChronusOptions chosen;
  const auto lease = options.number("lease", to_seconds(chosen.lease), 1, 1e6);
  const auto tick = options.number("tick", to_seconds(chosen.tick), 1, 1e6);
  const auto tolerance = options.number("tolerance", chosen.book.tolerance, 1, 100);
  const auto jobs_max = options.number("jobs_max", chosen.book.jobs_max, 1, 100'000);
  const auto cells_max = options.number("cells_max", chosen.book.cells_max, 0, 1e6);
  for (const auto* number : {&lease, &tick, &tolerance, &jobs_max, &cells_max}) {
    if (!*number) {
      return number->error();
    }
  }
  chosen.lease = from_seconds(*lease);
  chosen.tick = from_seconds(*tick);
  chosen.book.tolerance = *tolerance;
  chosen.book.jobs_max = static_cast<int>(*jobs_max);
  chosen.book.cells_max = static_cast<int>(*cells_max);
  return make_chronus(chosen);
}

PolicyInfo chronus_policy() {
  return {.name = "chronus",
          .paper = "Chronus, SoCC'21",
          .fidelity = "after Chronus and its published code; programs limited by work, not time",
          .objective = "deadlines kept by leases, then short waits for best-effort jobs",
          .needs = "requested GPUs, run time, deadline or value steps",
          .use_when = "jobs with and without deadlines share a cluster and cannot be resized",
          .options = "lease=1200 (s), tick=300 (s), tolerance=1, jobs_max=400, cells_max=1500",
          .make = make_chronus};
}

}  // namespace rubato::policy::chronus
