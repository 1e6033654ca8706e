#include "rubato/policy/elasticflow/pools.h"

#include <algorithm>
#include <tuple>

namespace rubato::policy::elasticflow {

FreeGpus::FreeGpus(std::span<const int> capacity) {
  for (const int gpus : capacity) {
    rooms_.push_back({.gpus = gpus, .left = gpus});
  }
}

void FreeGpus::reserve(PoolId pool, int workers) {
  rooms_[pool.value].gpus -= workers;
  rooms_[pool.value].left -= workers;
}

// Who wants no more than there is for each leaves at least as much for each of the others, so of
// equal wishes all are met or none. Those that are met add up to the GPUs at most, so there are few
// different ones: less than the root of twice the GPUs.
int FreeGpus::even_share(PoolId pool, int most) const {
  const Room& room = rooms_[pool.value];
  int gpus = room.gpus;
  int sharers = room.sharers + 1;
  for (const auto& [wish, jobs] : room.wishes) {
    if (wish >= most || wish > gpus / sharers) {
      break;  // From here on all want at least as much as there is for each.
    }
    gpus -= wish * jobs;
    sharers -= jobs;
  }
  return std::min(most, gpus / sharers);
}

// Whether the pool can give the job its smallest share beside all who came before.
bool FreeGpus::has_room(const JobState& job, PoolId pool, const View& view) const {
  const ScalingCurve& curve = view.curve(job, pool);
  return !curve.empty() && curve.smallest().workers <= rooms_[pool.value].left;
}

// Of the pools with room the one in which the job would be fastest; if none has room, of all it
// may use the one with most.
PoolId FreeGpus::best_for(const JobState& job, const View& view) const {
  PoolId best = job.pool();
  std::tuple<bool, double, bool, int, int> most{};
  bool is_found = false;
  for (const Pool& pool : view.topology.pools()) {
    const ScalingCurve& curve = view.curve(job, pool.id);
    if (curve.empty()) {
      continue;
    }
    const bool has_it = has_room(job, pool.id, view);
    const int share = has_it ? even_share(pool.id, curve.peak().workers) : 0;
    const double speed = curve.best_within(std::max(share, curve.smallest().workers)).speed;
    const bool was_here = job.first_start != kNever && job.pool() == pool.id;
    const Room& room = rooms_[pool.id.value];
    const std::tuple worth(has_it, has_it ? speed : 0, was_here, -room.sharers, room.left);
    if (!is_found || worth > most) {
      best = pool.id;
      most = worth;
      is_found = true;
    }
  }
  return best;
}

PoolId FreeGpus::seat(const JobState& job, const View& view) {
  const bool stays = job.share > 0 && has_room(job, job.pool(), view);
  const PoolId pool = stays ? job.pool() : best_for(job, view);
  if (has_room(job, pool, view)) {
    const ScalingCurve& curve = view.curve(job, pool);
    Room& room = rooms_[pool.value];
    room.left -= curve.smallest().workers;
    ++room.sharers;
    ++room.wishes[curve.peak().workers];
  }
  return pool;
}

}  // namespace rubato::policy::elasticflow
