#include "rubato/policy/planning/planning_policy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "rubato/policy/planning/crew_search.h"
#include "rubato/policy/rounds/gang.h"

namespace rubato::policy::planning {
namespace {

constexpr int kTriesMax = 8;          // Waiting jobs that one round tries to plan.
constexpr std::size_t kEndsMax = 64;  // Ends of plans at which a start is tried, the nearest.
constexpr Duration kLeastExtension = std::chrono::seconds(1);

}  // namespace

Result<PlanningOptions> planning_options(const PolicyOptions& options,
                                         std::span<const std::string_view> more) {
  static constexpr std::array<std::string_view, 2> kRanges = {"job", "slot"};
  std::vector<std::string_view> keys = {"slot", "horizon", "estimate", "range"};
  keys.insert(keys.end(), more.begin(), more.end());
  if (Status status = options.only(keys); !status) {
    return status.error();
  }
  PlanningOptions chosen;
  const auto slot = options.number("slot", 0, 0, 1e9);
  const auto horizon = options.number("horizon", chosen.horizon, 1, 10'000);
  const auto estimate = options.number("estimate", chosen.estimate, 0, 100);
  const auto range = options.word("range", "job", kRanges);
  if (!slot || !horizon || !estimate || !range) {
    return !slot       ? slot.error()
           : !horizon  ? horizon.error()
           : !estimate ? estimate.error()
                       : range.error();
  }
  chosen.by_slot = *range == "slot";
  chosen.slot = from_seconds(*slot);
  chosen.horizon = static_cast<int>(*horizon);
  chosen.estimate = *estimate;
  return chosen;
}

// --- Time ------------------------------------------------------------------------------------

Instant PlanningPolicy::round_at(const View& view) const {
  return on_grid(timer_.next(view.now, view.slot), view.slot);
}

Instant PlanningPolicy::ready_at(const JobState& job, PoolId pool, const View& view) const {
  const Instant arrived =
      later(job.job.arrival, view.topology.upload_time(pool, job.job.region, job.job.data_gb));
  return std::max(round_at(view), on_grid(arrived, view.slot));
}

Duration PlanningPolicy::slot_of(Duration fastest, const View& view) const {
  Duration slot = options_.slot;
  if (slot == Duration{}) {
    slot = fastest / PlanningOptions::kSlotsOfFastest;
  }
  slot = std::max({slot, 2 * fastest / options_.horizon, view.slot, Duration{1}});
  return on_grid(Instant{slot}, view.slot).time_since_epoch();
}

std::vector<Instant> PlanningPolicy::edges_of(const JobState& job, PoolId pool, Duration fastest,
                                              const View& view) const {
  return slot_edges(ready_at(job, pool, view), slot_of(fastest, view), options_.horizon, view.slot,
                    options_.slot == Duration{});
}

std::vector<Instant> PlanningPolicy::starts_of(const JobState& job, PoolId pool, Duration fastest,
                                               const View& view,
                                               const std::function<bool(JobId)>& counts) const {
  std::vector<Instant> starts = edges_of(job, pool, fastest, view);
  std::vector<Instant> ends;
  for (const auto& [id, plan] : book_.plans()) {
    const Instant end = plan.finish();
    if (plan.pool == pool && end > starts.front() && end < starts.back() &&
        (!counts || counts(id))) {
      ends.push_back(end);
    }
  }
  std::ranges::sort(ends);
  ends.resize(std::min(ends.size(), kEndsMax));
  starts.insert(starts.end(), ends.begin(), ends.end());
  std::ranges::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

// --- Events ----------------------------------------------------------------------------------

Decision PlanningPolicy::on(const Event& event, const View& view) {
  book_.open(view);
  Decision decision;
  if (const auto* arrival = std::get_if<Arrival>(&event)) {
    const JobState& job = view.jobs.at(arrival->job.id);
    const Reason reason = rounds::why_unrunnable(job, view);
    decision.verdicts.push_back(
        reason == Reason::None
            ? judge(job, view)
            : Verdict{.job = job.id(), .kind = VerdictKind::Refuse, .reason = reason});
    is_round_due_ |= waiting_.contains(job.id());
  } else if (const auto* completion = std::get_if<Completion>(&event)) {
    book_.drop(completion->job, view.now);
    waiting_.erase(completion->job);
    leaves(completion->job);
    is_round_due_ |= !waiting_.empty();
  } else if (const auto* change = std::get_if<NodeChange>(&event)) {
    repair(*change, view);
    is_round_due_ = true;
  } else if (const auto* report = std::get_if<ProgressReport>(&event)) {
    // A job that lost workers is to get them back.
    const JobState* job = view.jobs.find(report->job);
    is_round_due_ |= job != nullptr && job->share == 0;
  } else if (std::holds_alternative<Tick>(event)) {
    is_round_due_ = false;
    decision.is_round = true;
    continue_overdue(view);
    retry_waiting(view);
    hold_batch(view, decision);
    add_targets(view, decision);
    timer_.held(view.now);  // Not before: until here plans may begin now.
  }
  report_plans(view, decision);
  const Instant handled = timer_.last() == kNever ? Instant::min() : timer_.last();
  decision.wake_at =
      std::min(std::max(view.now, book_.next_edge(handled)), next_batch(round_at(view)));
  if (is_round_due_) {
    decision.wake_at = std::min(decision.wake_at, round_at(view));
  }
  return decision;
}

void PlanningPolicy::repair(const NodeChange& change, const View& view) {
  for (const JobId job : book_.change_node(change, view)) {
    replan_or_wait(job, view);
  }
}

void PlanningPolicy::replan_or_wait(JobId job, const View& view) {
  book_.drop(job, view.now);
  if (!replan(view.jobs.at(job), view)) {
    waiting_.insert(job);
  }
}

// A plan is over and its job is not: it goes on as it is if nobody else needs its GPUs.
void PlanningPolicy::continue_overdue(const View& view) {
  std::vector<JobId> overdue;
  for (const auto& [job, plan] : book_.plans()) {
    if (plan.finish() <= view.now) {
      overdue.push_back(job);
    }
  }
  for (const JobId id : overdue) {
    const JobState& job = view.jobs.at(id);
    const BookedSegment last = book_.find(id)->segments.back();
    const Instant least = later(view.now, std::max(view.slot, kLeastExtension));
    const Instant until = std::max(on_grid(job.progress.finish(job.job.work), view.slot), least);
    const bool runs_as_planned = job.share == last.workers && until != kNever;
    if (!runs_as_planned || !book_.extend(id, until, view.now)) {
      replan_or_wait(id, view);
    }
  }
}

void PlanningPolicy::retry_waiting(const View& view) {
  int tries = 0;
  for (auto next = waiting_.begin(); next != waiting_.end() && tries < kTriesMax; ++tries) {
    next = replan(view.jobs.at(*next), view) ? waiting_.erase(next) : std::next(next);
  }
}

// Every job gets the workers its plan has for it now, and none without a plan.
void PlanningPolicy::add_targets(const View& view, Decision& decision) const {
  std::vector<int> left(view.capacity.begin(), view.capacity.end());
  view.jobs.for_each([&](const JobState& job) {
    const BookedPlan* plan = book_.find(job.id());
    const BookedSegment* segment = plan == nullptr ? nullptr : plan->at(view.now);
    Target target{.job = job.id(), .pool = plan == nullptr ? job.pool() : plan->pool};
    // A node that the book takes for up may be gone: it was down before anybody told us.
    if (segment != nullptr && left[plan->pool.value] >= segment->workers) {
      target.workers = segment->workers;
      target.nodes = segment->nodes;
      left[plan->pool.value] -= segment->workers;
    }
    const bool is_there = target.workers == 0 || job.pool() == target.pool;
    if (job.share != target.workers || !is_there) {
      decision.targets.push_back(std::move(target));
    }
  });
}

void PlanningPolicy::report_plans(const View& view, Decision& decision) {
  for (const JobId job : book_.take_changed()) {
    if (view.jobs.find(job) != nullptr) {
      const BookedPlan* plan = book_.find(job);
      decision.plans.push_back({.job = job, .plan = plan == nullptr ? Plan{} : plan->plan()});
    }
  }
}

// --- Verdicts --------------------------------------------------------------------------------

Verdict PlanningPolicy::turn_down(const JobState& job, const JobWorth& worth, const View& view) {
  Verdict verdict{.job = job.id()};
  if (!worth.may_be_refused()) {
    wait(job.id());
    return verdict;
  }
  verdict.kind = VerdictKind::Refuse;
  const Instant start = round_at(view);
  if (start >= job.job.deadline) {
    verdict.reason = Reason::DeadlinePassed;
  } else if (later(start, needs_of(job, view).fastest) > job.job.deadline) {
    verdict.reason = Reason::DeadlineTooSoon;
  } else {
    verdict.reason = Reason::PriceTooHigh;
  }
  return verdict;
}

// --- Repair ----------------------------------------------------------------------------------

bool PlanningPolicy::book_earliest(const JobState& job, int workers_max, const View& view) {
  std::optional<PoolBooking> best;
  for (const Pool& pool : view.topology.pools()) {
    const auto crews = crews_of(job, pool, view, workers_max);
    keep_better(best, pool.id,
                best_crew({.pool = pool.id, .room = {&book_.calendar(pool.id)}}, crews,
                          {.starts = starts_of(job, pool.id, fastest_of(crews), view)},
                          [](Instant finish) { return -to_seconds(finish); }));
  }
  if (best) {
    book_.set(job.id(), plan_of(*best, book_), view.now);
  }
  return best.has_value();
}

// --- State -----------------------------------------------------------------------------------

std::string PlanningPolicy::save() const {
  std::string state;
  append_line(state, "round", {timer_.last().time_since_epoch().count(), is_round_due_ ? 1 : 0});
  for (const JobId job : waiting_) {
    append_line(state, "waits", {static_cast<std::int64_t>(job.value)});
  }
  book_.save(state);
  save_more(state);
  return state;
}

Status PlanningPolicy::load(std::string_view state) {
  const auto lines = read_lines(state);
  if (!lines) {
    return lines.error();
  }
  timer_ = rounds::RoundTimer{};
  is_round_due_ = false;
  waiting_.clear();
  book_.clear();
  clear_more();
  for (const SavedLine& line : *lines) {
    if (line.word == "round" && line.numbers.size() == 2) {
      timer_.held(Instant{Duration{line.numbers[0]}});
      is_round_due_ = line.numbers[1] != 0;
    } else if (line.word == "waits" && line.numbers.size() == 1) {
      waiting_.insert(JobId{static_cast<std::uint64_t>(line.numbers[0])});
    } else if (!book_.restore(line) && !restore_more(line)) {
      return unexpected(line);
    }
  }
  return ok_status();
}

}  // namespace rubato::policy::planning
