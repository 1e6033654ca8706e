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

// What both permit a worker to take at a time.
BatchLimits narrowed(BatchLimits limits, const BatchLimits& local) {
  limits.local_min = std::max(limits.local_min, local.local_min);
  limits.local_max = std::min(limits.local_max, local.local_max);
  return limits;
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

const BatchLimits& JobGoodput::limits_on(PoolId pool) const {
  const auto found = limits_there.find(pool);
  return found == limits_there.end() ? limits : found->second;
}

Goodput JobGoodput::best(PoolId pool, int nodes, const BatchSizes& sizes) const {
  const PoolGoodput* here = on(pool);
  if (here == nullptr || !here->model || !noise) {
    return {};
  }
  return best_goodput(*here->model, *noise, sizes, nodes);
}

BatchSplit JobGoodput::split(PoolId pool, int nodes, int workers) const {
  const BatchLimits& here = limits_on(pool);
  Goodput chosen = best(pool, nodes, BatchSizes(here, workers));
  if (chosen.rate <= 0) {
    const auto least = std::max<std::int64_t>(here.initial, std::int64_t{here.local_min} * workers);
    return split_batch(static_cast<int>(std::min<std::int64_t>(least, here.max)), here, workers);
  }
  const int passes = workers * (chosen.split.accumulation + 1);
  chosen.split.local = std::min(chosen.split.local, std::max(1, here.max / passes));
  return chosen.split;
}

void GoodputBook::arrive(const Job& job, std::span<const BatchLimits> local_limits) {
  if (!are_sensible(job.batches)) {
    return;
  }
  const auto known = shares_ ? contents_.models.find(job.model) : contents_.models.end();
  JobGoodput& mine = contents_.jobs[job.id];
  mine = known == contents_.models.end() ? JobGoodput{} : known->second;
  mine.limits = job.batches;
  for (std::size_t pool = 0; pool < local_limits.size(); ++pool) {
    const BatchLimits here = narrowed(job.batches, local_limits[pool]);
    if (here != job.batches && are_sensible(here)) {
      mine.limits_there.emplace(PoolId{pool}, here);
    }
  }
}

void GoodputBook::leave(JobId job) { contents_.jobs.erase(job); }

void GoodputBook::observe(const Job& job, PoolId pool, const StepObservation& step) {
  const auto mine = contents_.jobs.find(job.id);
  if (mine == contents_.jobs.end() || !is_sensible(step)) {
    return;
  }
  learn(mine->second, pool, step);
  if (shares_) {
    learn(contents_.models[job.model], pool, step);
  }
}

const JobGoodput* GoodputBook::find(JobId job) const {
  const auto found = contents_.jobs.find(job);
  return found == contents_.jobs.end() ? nullptr : &found->second;
}

}  // namespace rubato
