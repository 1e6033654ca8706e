#include "rubato/predict/goodput_book.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "rubato/predict/throughput_fit.h"

namespace rubato {
namespace {

// Observations of a job on a pool; later ones change nothing.
constexpr std::size_t kSeenMax = 200;

// Limits that leave a batch to choose; a journal may hold others.
bool are_sensible(const BatchLimits& limits) {
  return limits.can_adapt() && limits.initial >= 1 && limits.max >= limits.initial &&
         limits.local_min >= 1 && limits.local_max >= limits.local_min;
}

bool is_sensible(const StepObservation& step) {
  return step.nodes >= 1 && step.workers >= step.nodes && step.local_batch >= 1 &&
         std::isfinite(step.pass_seconds) && step.pass_seconds > 0 &&
         std::isfinite(step.step_seconds) && step.step_seconds >= step.pass_seconds &&
         std::isfinite(step.gradient_squared) && step.gradient_squared >= 0 &&
         std::isfinite(step.gradient_variance) && step.gradient_variance >= 0;
}

bool same_place(const StepObservation& left, const StepObservation& right) {
  return left.nodes == right.nodes && left.workers == right.workers &&
         left.local_batch == right.local_batch;
}

void learn(JobGoodput& job, PoolId pool, const StepObservation& step) {
  const GradientNoise noise{.squared = step.gradient_squared, .variance = step.gradient_variance};
  if (job.noise != noise) {
    job.noise = noise;
    ++job.version;
  }
  PoolGoodput& here = job.pools[pool];
  const bool is_known = std::ranges::any_of(
      here.seen, [&](const StepObservation& each) { return same_place(each, step); });
  if (is_known || here.seen.size() >= kSeenMax) {
    return;
  }
  here.seen.push_back(step);
  here.workers_seen = std::max(here.workers_seen, step.workers);
  here.model = fit_throughput(here.seen);
  ++job.version;
}

}  // namespace

const PoolGoodput* JobGoodput::on(PoolId pool) const {
  const auto found = pools.find(pool);
  return found == pools.end() ? nullptr : &found->second;
}

Goodput JobGoodput::best(PoolId pool, int nodes, const BatchSizes& sizes) const {
  const PoolGoodput* here = on(pool);
  if (here == nullptr || !here->model || !noise) {
    return {};
  }
  return best_goodput(*here->model, *noise, sizes, nodes);
}

BatchSplit JobGoodput::split(PoolId pool, int nodes, int workers) const {
  Goodput chosen = best(pool, nodes, BatchSizes(limits, workers));
  if (chosen.rate <= 0) {
    const auto least =
        std::max<std::int64_t>(limits.initial, std::int64_t{limits.local_min} * workers);
    return split_batch(static_cast<int>(std::min<std::int64_t>(least, limits.max)), limits,
                       workers);
  }
  const int passes = workers * (chosen.split.accumulation + 1);
  chosen.split.local = std::min(chosen.split.local, std::max(1, limits.max / passes));
  return chosen.split;
}

void GoodputBook::arrive(const Job& job) {
  if (!are_sensible(job.batches)) {
    return;
  }
  const auto known = shares_ ? models_.find(job.model) : models_.end();
  JobGoodput& mine = jobs_[job.id];
  mine = known == models_.end() ? JobGoodput{} : known->second;
  mine.limits = job.batches;
}

void GoodputBook::leave(JobId job) { jobs_.erase(job); }

void GoodputBook::observe(const Job& job, PoolId pool, const StepObservation& step) {
  const auto mine = jobs_.find(job.id);
  if (mine == jobs_.end() || !is_sensible(step)) {
    return;
  }
  learn(mine->second, pool, step);
  if (shares_) {
    learn(models_[job.model], pool, step);
  }
}

const JobGoodput* GoodputBook::find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

}  // namespace rubato
