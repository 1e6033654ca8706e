#include "rubato/policy/pricing/oasis.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "rubato/policy/pricing/pricing_policy.h"
#include "rubato/policy/pricing/server_search.h"

namespace rubato::policy::pricing {
namespace {

using planning::BookedSegment;
using planning::JobWorth;

constexpr int kUnits = 512;  // Of progress, into which the work of a job is divided.
constexpr Duration kPriceSlot = std::chrono::seconds(1);

struct Candidate {
  PoolId pool{};
  ElasticSchedule schedule{};
};

/// What a schedule is to be good for; without prices everything is free.
struct Aim {
  std::function<double(Instant finish)> value{};
  planning::PriceCurve prices{};
};

// Neighbouring slots with equal workers are one segment.
std::vector<BookedSegment> segments_of(const ElasticSchedule& schedule) {
  std::vector<BookedSegment> segments;
  for (const SlotUse& use : schedule.uses) {
    if (!segments.empty() && segments.back().window.to == use.window.from &&
        segments.back().workers == use.workers) {
      segments.back().window.to = use.window.to;
    } else {
      segments.push_back({.window = use.window, .workers = use.workers});
    }
  }
  return segments;
}

// When the job will be done on these segments, pauses included; kNever if it will not.
Instant finish_on(const std::vector<BookedSegment>& segments, const JobState& job, PoolId pool,
                  const View& view) {
  double left = job.work_left(view.now);
  int workers = job.share;
  Instant end = view.now;
  for (const BookedSegment& segment : segments) {
    workers = end == segment.window.from ? workers : 0;
    const Duration pause = planning::foreseen_pause(view.costs, job.job, workers, segment.workers);
    const double speed = view.speed(job, pool, segment.workers);
    const Instant start = segment.window.from + pause;
    const Instant done = later(start, from_seconds_up(left / speed));
    if (done <= segment.window.to || &segment == &segments.back()) {
      return done;
    }
    left -= std::max(0.0, to_seconds(segment.window.to - start)) * speed;
    workers = segment.workers;
    end = segment.window.to;
  }
  return kNever;
}

class Oasis final : public PricingPolicy {
 public:
  explicit Oasis(const planning::PlanningOptions& options)
      : PricingPolicy(planning::SiteKind::Pools, options) {}

 protected:
  Verdict judge(const JobState& job, const View& view) override {
    const JobWorth worth(job, view);
    const auto best = search(job, by_worth(worth), view);
    observe(job, worth, view);
    if (!best || best->schedule.payoff() <= 0) {
      return turn_down(job, worth, view);
    }
    adopt(job, *best, view);
    return Verdict{.job = job.id(), .payment = best->schedule.cost};
  }

  bool replan(const JobState& job, const View& view) override {
    const JobWorth worth(job, view);
    auto best = search(job, by_worth(worth), view);
    if (!best || best->schedule.payoff() <= 0) {
      // The cheapest slots would be distant ones: nothing pays any more, so be done with it.
      const Aim haste{.value = [](Instant finish) { return -to_seconds(finish); }};
      best = search(job, haste, view);
    }
    if (best) {
      adopt(job, *best, view);
    }
    return best.has_value();
  }

 private:
  /// Borrows the worth.
  [[nodiscard]] Aim by_worth(const JobWorth& worth) const {
    return {.value = [&worth](Instant finish) { return worth.at(finish); }, .prices = prices()};
  }

  // The best schedule in any pool; equal ones go to the first.
  [[nodiscard]] std::optional<Candidate> search(const JobState& job, const Aim& aim,
                                                const View& view) const {
    std::optional<Candidate> best;
    for (const Pool& pool : view.topology.pools()) {
      auto found = search_pool(job, aim, pool.id, view);
      if (found && (!best || found->payoff() > best->schedule.payoff())) {
        best = Candidate{.pool = pool.id, .schedule = *std::move(found)};
      }
    }
    return best;
  }

  [[nodiscard]] std::optional<ElasticSchedule> search_pool(const JobState& job, const Aim& aim,
                                                           PoolId pool, const View& view) const {
    const ScalingCurve& curve = view.curve(job, pool);
    if (curve.empty() || ready_at(job, pool, view) == kNever) {
      return std::nullopt;
    }
    // The pause of a start counts as work that is done at full speed.
    const ScalingPoint& peak = curve.peak();
    const double pause = to_seconds(planning::foreseen_pause(view.costs, job.job, 0, peak.workers));
    const double work = job.work_left(view.now) / job.speed_factor + pause * peak.speed;
    const double unit = work / kUnits;
    ElasticDemand demand{.units = kUnits};
    for (const ScalingPoint& point : curve.points()) {
      demand.counts.push_back({.workers = point.workers, .gain = point.speed / unit});
    }
    const ElasticSearch request{
        .workers = {.calendar = &book().calendar(pool), .prices = {aim.prices}, .crowds = true},
        .edges = edges_of(job, pool, from_seconds_up(work / peak.speed), view),
        .price_slot = kPriceSlot};
    return best_elastic(request, demand, aim.value);
  }

  // Follows the schedule; where the work ends before or after it, so does the plan if it can.
  void adopt(const JobState& job, const Candidate& best, const View& view) {
    planning::BookedPlan plan{.pool = best.pool, .segments = segments_of(best.schedule)};
    const Instant done =
        planning::on_grid(finish_on(plan.segments, job, best.pool, view), view.slot);
    while (plan.segments.size() > 1 && plan.segments.back().window.from >= done) {
      plan.segments.pop_back();
    }
    planning::TimeWindow& last = plan.segments.back().window;
    last.to = std::clamp(done, last.from + Duration{1}, last.to);
    book().set(job.id(), std::move(plan), view.now);
    if (done != kNever && done > book().find(job.id())->finish()) {
      static_cast<void>(book().extend(job.id(), done, view.now));  // Else when it is due.
    }
  }
};

}  // namespace

std::unique_ptr<Policy> make_oasis(const planning::PlanningOptions& options) {
  return std::make_unique<Oasis>(options);
}

Result<std::unique_ptr<Policy>> make_oasis(const PolicyOptions& options) {
  const auto chosen = planning::planning_options(options);
  if (!chosen) {
    return chosen.error();
  }
  return make_oasis(*chosen);
}

PolicyInfo oasis_policy() {
  return {.name = "oasis",
          .paper = "OASiS, INFOCOM'18",
          .fidelity = "exact search; all-reduce jobs, pools as sites, crowd prices",
          .objective = "total value of finished jobs",
          .needs = "speed curve, value",
          .use_when = "jobs are worth different amounts and less when late",
          .options = "slot=0 (s, 0: by job), horizon=100 (slots), estimate=0.5, range=job|slot",
          .make = make_oasis};
}

}  // namespace rubato::policy::pricing
