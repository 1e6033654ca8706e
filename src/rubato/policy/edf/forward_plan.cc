#include "rubato/policy/edf/forward_plan.h"

#include <algorithm>

namespace rubato::policy::edf {
namespace {

// Doubles are added in another order here than while the job runs.
constexpr Duration kFinishRounding{1000};

// One walk along the ledger.
class ForwardWalk {
 public:
  ForwardWalk(const ForwardRequest& request, const View& view)
      : request_(request),
        view_(view),
        curve_(view.curve(request.job, request.pool)),
        progress_(request.job.progress) {
    progress_.advance(request.from);
    workers_ = request.job.pool() == request.pool ? request.job.share : 0;
    result_.plan.pool = request.pool;
  }

  // Takes the job over one stretch; false once it is done or cannot be in time.
  bool cross(Instant begin, Instant end, int free) {
    if (begin >= request_.deadline) {
      return false;
    }
    const int chosen = best_count(begin, end, free);
    progress_ = after_change(begin, chosen);
    workers_ = chosen;
    is_first_ = is_first_ && chosen == 0;
    const Instant finish = progress_.finish(request_.job.job.work);
    is_done_ = chosen > 0 && later(finish, kFinishRounding) <= end;
    if (chosen > 0) {
      append(begin, is_done_ ? end_of_segment(later(finish, kFinishRounding), end) : end);
    }
    if (is_done_) {
      result_.finish = later(finish, kFinishRounding);
    }
    return !is_done_;
  }

  [[nodiscard]] std::optional<ForwardPlan> result() const {
    return is_done_ && result_.finish <= request_.deadline ? std::optional(result_) : std::nullopt;
  }

 private:
  // Time lost to rounds that change nothing, over one unit of the grid, restarts spread evenly.
  [[nodiscard]] Duration stall_per_round(int workers) const {
    const Duration usual = view_.costs.artifact(workers, /*known_set=*/true, /*restarts=*/false);
    const Duration restart = view_.costs.artifact(workers, /*known_set=*/false, /*restarts=*/true);
    return usual + (restart - usual) / view_.costs.rounds_between_restarts() + Duration{1};
  }

  [[nodiscard]] double speed(int workers) const {
    double slowest = view_.curve(request_.job, request_.pool).speed(workers);
    if (view_.speeds.depends_on_span(request_.job.speed, request_.pool)) {
      for (const Locality span : {Locality::Node, Locality::Rack, Locality::Across}) {
        slowest =
            std::min(slowest, view_.speeds.speed(request_.job.speed, request_.pool, workers, span));
      }
    }
    slowest *= request_.job.speed_factor;
    if (view_.costs.accounting() != ResizeCostModel::Artifact) {
      return slowest;
    }
    const double share_lost = to_seconds(stall_per_round(workers)) / to_seconds(request_.grid);
    return slowest * std::max(0.0, 1 - share_lost);
  }

  [[nodiscard]] Duration pause(int workers) const {
    switch (view_.costs.accounting()) {
      case ResizeCostModel::None:
        return Duration{};
      case ResizeCostModel::Physical:
        return view_.costs.physical(request_.job.job, {.from = workers_, .to = workers});
      case ResizeCostModel::Artifact:
        // The first stop may be a restart; later ones are in the speed.
        return workers == workers_ && !is_first_
                   ? Duration{}
                   : view_.costs.artifact(workers, /*known_set=*/false, is_first_);
    }
    return Duration{};
  }

  [[nodiscard]] Progress after_change(Instant at, int workers) const {
    Progress progress = progress_;
    if (workers != workers_ || (is_first_ && workers > 0)) {
      progress.change(at, workers > 0 ? speed(workers) : 0,
                      workers > 0 ? pause(workers) : Duration{});
    }
    return progress;
  }

  // The count that ends the job first or, if none does by `end`, gets furthest by then.
  [[nodiscard]] int best_count(Instant begin, Instant end, int free) const {
    const double work = request_.job.job.work;
    int best = 0;
    Instant best_finish = kNever;
    double best_done = progress_.at(begin);
    const auto consider = [&](int workers, bool even_without_gain) {
      const Progress progress = after_change(begin, workers);
      const Instant finish = progress.finish(work);
      const bool ends = finish <= end;
      const double done = ends ? work : progress.at(end);
      if (even_without_gain || (ends ? finish < best_finish : done > best_done)) {
        best = workers;
        best_done = done;
        best_finish = ends ? finish : kNever;
      }
    };
    if (workers_ > 0 && workers_ <= free) {
      consider(workers_, /*even_without_gain=*/true);
    }
    for (const ScalingPoint& point : curve_.points()) {
      if (point.workers <= free && point.workers != workers_) {
        consider(point.workers, /*even_without_gain=*/false);
      }
    }
    return best;
  }

  [[nodiscard]] Instant end_of_segment(Instant finish, Instant end) const {
    return std::min(next_on_grid(finish, request_.from, request_.grid), end);
  }

  void append(Instant begin, Instant end) {
    auto& segments = result_.plan.segments;
    if (!segments.empty() && segments.back().to == begin && segments.back().workers == workers_) {
      segments.back().to = end;
    } else {
      segments.push_back(PlanSegment{.from = begin, .to = end, .workers = workers_});
    }
  }

  const ForwardRequest& request_;
  const View& view_;
  const ScalingCurve& curve_;
  Progress progress_;
  int workers_ = 0;
  bool is_first_ = true;  // It has not run in this plan yet.
  bool is_done_ = false;
  ForwardPlan result_;
};

}  // namespace

Instant next_on_grid(Instant moment, Instant anchor, Duration grid) {
  if (moment <= anchor) {
    return anchor;
  }
  if (grid <= Duration{} || moment == kNever) {
    return moment;
  }
  const Duration past = (moment - anchor) % grid;
  return past == Duration{} ? moment : moment + (grid - past);
}

std::optional<ForwardPlan> plan_forward(const ForwardRequest& request, const Ledger& ledger,
                                        const View& view) {
  const ScalingCurve& curve = view.curve(request.job, request.pool);
  if (curve.empty()) {
    return std::nullopt;
  }
  ForwardWalk walk(request, view);
  const int most = std::max(curve.peak().workers, request.job.share);
  ledger.for_each_run(request.from, kNever, most, [&](Instant begin, Instant end, int free) {
    return walk.cross(begin, end, free);
  });
  return walk.result();
}

}  // namespace rubato::policy::edf
