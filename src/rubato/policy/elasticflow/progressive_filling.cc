#include "rubato/policy/elasticflow/progressive_filling.h"

#include <algorithm>
#include <utility>

namespace rubato::policy::elasticflow {
namespace {

// Doubles add up a little off; a plan keeps this much in hand so that it never promises too much.
constexpr Duration kFillRounding{20};

// Time in [from, to) that rounds of others cost; a pause at `from` pays for a round at that moment.
Duration stalled(const FillRequest& request, Instant from, Instant to, Duration pause) {
  const Instant after = pause > Duration{} ? from : from - Duration{1};
  return request.stalls == nullptr ? Duration{} : request.stalls->within(after, to);
}

// Time in [from, to) during which the job makes progress, given a pause at `from`.
Duration usable(const FillRequest& request, Instant from, Instant to, Duration pause) {
  const Instant begin = std::max(from, request.ready) + pause;
  if (begin >= to) {
    return Duration{};
  }
  return std::max(Duration{}, to - begin - stalled(request, from, to, pause));
}

// The moment by which `needed` of progress time has passed; not after `to` by construction.
Instant end_of(const FillRequest& request, Instant from, Instant to, Duration pause,
               Duration needed) {
  Instant end = std::min(to, std::max(from, request.ready) + pause + needed);
  // Each stall inside pushes the end out, perhaps over further stalls; this settles quickly.
  while (end < to) {
    const Duration missing = needed - usable(request, from, end, pause);
    if (missing <= Duration{}) {
      break;
    }
    end = std::min(to, end + missing);
  }
  return end;
}

// A job that pauses in its plan may have been stopped, or have been left what it had: unknown.
constexpr int kUnknownShare = -1;
constexpr int kWidestShare = 1 << 20;

int after_gap(int before) { return before == 0 ? 0 : kUnknownShare; }

// The pause before `workers` can go on, given how many there were.
Duration pause_before(const FillRequest& request, int before, int workers) {
  if (workers == before || workers == 0 || request.costs == nullptr) {
    return Duration{};
  }
  const auto pause = [&](int from) {
    return planned_pause(*request.costs, *request.job, from, workers);
  };
  return before == kUnknownShare ? std::max(pause(0), pause(kWidestShare)) : pause(before);
}

// Adds a segment, joined to the last one if that goes on unchanged.
void append(Plan& plan, Instant from, Instant to, int workers) {
  if (workers == 0 || from >= to) {
    return;
  }
  if (!plan.segments.empty() && plan.segments.back().to == from &&
      plan.segments.back().workers == workers) {
    plan.segments.back().to = to;
  } else {
    plan.segments.push_back(PlanSegment{.from = from, .to = to, .workers = workers});
  }
}

/// Walks the ledger at one level and collects segments until the work is done.
class Filler {
 public:
  Filler(const FillRequest& request, const ScalingPoint& level)
      : request_(request),
        level_(level),
        left_(request.work +
              to_seconds(request.reserve + kFillRounding) * level.speed * request.speed_factor),
        before_(request.share) {}

  // One stretch of the ledger with `free` GPUs (capped at the level); false once the work is done.
  bool take(Instant from, Instant to, int free) {
    const ScalingPoint point = free >= level_.workers ? level_ : request_.curve->best_within(free);
    const Duration pause = pause_before(request_, before_, point.workers);
    const Duration progress = usable(request_, from, to, pause);
    if (point.workers == 0 || progress <= Duration{}) {
      before_ = after_gap(before_);
      return true;
    }
    before_ = point.workers;
    const double speed = point.speed * request_.speed_factor;
    const double gain = speed * to_seconds(progress);
    if (gain < left_) {
      left_ -= gain;
      append(plan_, from, to, point.workers);
      return true;
    }
    append(plan_, from, end_of(request_, from, to, pause, from_seconds_up(left_ / speed)),
           point.workers);
    left_ = 0;
    return false;
  }

  [[nodiscard]] bool done() const { return left_ <= 0; }
  [[nodiscard]] Plan plan() && { return std::move(plan_); }

 private:
  const FillRequest& request_;
  const ScalingPoint& level_;
  double left_;
  int before_;
  Plan plan_;
};

// The plan at `level` from the start, ended as soon as the work is done.
std::optional<Plan> fill_early(const FillRequest& request, const Ledger& ledger,
                               const ScalingPoint& level) {
  Filler filler(request, level);
  ledger.for_each_run(
      request.start, request.deadline, level.workers,
      [&](Instant from, Instant to, int free) { return filler.take(from, to, free); });
  return filler.done() ? std::optional(std::move(filler).plan()) : std::nullopt;
}

/// One stretch of the ledger: what the job gets there before and after it is raised.
struct Stretch {
  Instant from{};
  Instant to{};
  ScalingPoint low{};
  ScalingPoint high{};
};

std::vector<Stretch> stretches_of(const FillRequest& request, const Ledger& ledger,
                                  const ScalingPoint& level) {
  std::vector<Stretch> stretches;
  const ScalingPoint below = request.curve->next_below(level.workers);
  ledger.for_each_run(
      request.start, request.deadline, level.workers, [&](Instant from, Instant to, int free) {
        stretches.push_back(
            Stretch{.from = from,
                    .to = to,
                    .low = request.curve->best_within(std::min(free, below.workers)),
                    .high = request.curve->best_within(free)});
        return true;
      });
  return stretches;
}

// The latest moment to go from low to high so that the work is done by the deadline; nothing if
// even the start is too late. Pauses are left to the reserve: completes() has the last word.
std::optional<Instant> latest_raise(const FillRequest& request,
                                    const std::vector<Stretch>& stretches, double work) {
  const double factor = request.speed_factor;
  double low = 0;
  for (const Stretch& each : stretches) {
    low += each.low.speed * factor * to_seconds(each.to - each.from);
  }
  double high = 0;  // Work of all stretches behind the one looked at, raised.
  for (std::size_t i = stretches.size(); i-- > 0;) {
    const Stretch& each = stretches[i];
    const double length = to_seconds(each.to - each.from);
    const double slow = each.low.speed * factor;
    const double fast = each.high.speed * factor;
    low -= slow * length;
    if (low + fast * length + high >= work) {
      const double spare = low + fast * length + high - work;
      const double wait = fast > slow ? std::min(length, spare / (fast - slow)) : 0;
      return each.from + std::min(each.to - each.from, from_seconds(wait));
    }
    high += fast * length;
  }
  return std::nullopt;
}

// The plan that is one level lower until the latest moment; nothing if its pauses do not fit.
std::optional<Plan> fill_late(const FillRequest& request, const Ledger& ledger,
                              const ScalingPoint& level) {
  const std::vector<Stretch> stretches = stretches_of(request, ledger, level);
  const double speed = level.speed * request.speed_factor;
  const double work = request.work + to_seconds(request.reserve + request.late_margin) * speed;
  const auto raise = latest_raise(request, stretches, work);
  if (!raise) {
    return std::nullopt;
  }
  Plan plan;
  for (const Stretch& each : stretches) {
    append(plan, each.from, std::min(each.to, *raise), each.low.workers);
    append(plan, std::max(each.from, *raise), each.to, each.high.workers);
  }
  FillRequest bare = request;
  bare.reserve = Duration{};
  return completes(bare, plan) ? std::optional(std::move(plan)) : std::nullopt;
}

// For a job that has yet to start and would end too early: the plan that starts so much later.
std::optional<Plan> fill_waiting(const FillRequest& request, const Ledger& ledger,
                                 const ScalingPoint& level, Instant planned) {
  const double padding = request.job == nullptr ? 0 : request.job->padding;
  const Instant finish = planned - from_seconds(padding / (level.speed * request.speed_factor));
  if (request.share > 0 || finish >= request.soonest) {
    return std::nullopt;
  }
  FillRequest later = request;
  later.start += request.soonest - finish;
  return fill_early(later, ledger, level);
}

}  // namespace

Duration planned_pause(const ResizeCost& costs, const Job& job, int from, int to) {
  switch (costs.accounting()) {
    case ResizeCostModel::None:
      break;
    case ResizeCostModel::Physical:
      return costs.physical(job, ShareChange{.from = from, .to = to});
    case ResizeCostModel::Artifact:
      return costs.artifact(to, /*known_set=*/false, /*restarts=*/false);
  }
  return Duration{};
}

bool completes(const FillRequest& request, const Plan& plan) {
  double fastest = 0;
  for (const PlanSegment& segment : plan.segments) {
    fastest = std::max(fastest, request.curve->speed(segment.workers) * request.speed_factor);
  }
  double left = request.work + to_seconds(request.reserve) * fastest;
  int before = request.share;
  Instant end = request.start;
  FillRequest here = request;  // Its `ready` moves on: a pause may outlast its segment.
  for (const PlanSegment& segment : plan.segments) {
    before = segment.from > end ? after_gap(before) : before;
    const Duration pause = pause_before(request, before, segment.workers);
    left -= to_seconds(usable(here, segment.from, segment.to, pause)) *
            request.curve->speed(segment.workers) * request.speed_factor;
    here.ready = std::max(segment.from, here.ready) + pause +
                 stalled(request, segment.from, segment.to, pause);
    before = segment.workers;
    end = segment.to;
  }
  return left <= 0;
}

std::optional<Plan> fill(const FillRequest& request, const Ledger& ledger) {
  for (const ScalingPoint& level : request.curve->points()) {
    const double most = level.speed * request.speed_factor *
                        to_seconds(request.deadline - std::max(request.start, request.ready));
    if (most < request.work) {
      continue;  // Too slow even with nobody in the way.
    }
    auto plan = fill_early(request, ledger, level);
    if (plan && request.shape == FillShape::Late) {
      if (auto late = fill_late(request, ledger, level)) {
        return late;
      }
    }
    if (plan) {
      auto waiting = fill_waiting(request, ledger, level, plan->finish());
      return waiting ? waiting : plan;
    }
  }
  return std::nullopt;
}

}  // namespace rubato::policy::elasticflow
