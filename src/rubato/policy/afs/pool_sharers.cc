#include "rubato/policy/afs/pool_sharers.h"

#include "rubato/policy/afs/worker_steps.h"
#include "rubato/policy/rounds/home_pool.h"

namespace rubato::policy::afs {
namespace {

// Found once for all jobs of a kind.
std::span<const ScalingPoint> packed_for(const JobState& job, const View& view, const Pool& pool,
                                         PoolSharers& here) {
  const auto [found, is_new] = here.packed.try_emplace(job.speed);
  if (is_new) {
    found->second = packed_steps(view.curve(job, pool.id), pool.gpus, pool.gpus_per_node);
  }
  return found->second;
}

}  // namespace

void PoolSharers::seat_all() const {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    seats[i]->workers = sharers[i].now().workers;
  }
}

std::vector<PoolSharers> sharers_by_pool(const View& view, std::span<rounds::Seat> seats,
                                         bool packs) {
  rounds::choose_home_pools(view, seats);
  std::vector<PoolSharers> pools(view.capacity.size());
  for (rounds::Seat& seat : seats) {
    const JobState& job = *seat.job;
    const Pool& pool = view.topology.pool(seat.pool);
    PoolSharers& here = pools[pool.id.value];
    here.seats.push_back(&seat);
    // Speeds of the book times the measured factor, written as less or more work.
    here.sharers.push_back(Sharer{.steps = packs
                                               ? packed_for(job, view, pool, here)
                                               : usable_steps(view.curve(job, pool.id), pool.gpus),
                                  .work = job.work_left(view.now) / job.speed_factor});
  }
  return pools;
}

}  // namespace rubato::policy::afs
