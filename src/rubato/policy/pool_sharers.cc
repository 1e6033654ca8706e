#include "rubato/policy/pool_sharers.h"

#include "rubato/policy/home_pool.h"
#include "rubato/policy/worker_steps.h"

namespace rubato {

void PoolSharers::seat_all() const {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    seats[i]->workers = sharers[i].now().workers;
  }
}

std::vector<PoolSharers> sharers_by_pool(const View& view, std::span<Seat> seats, bool packs) {
  choose_home_pools(view, seats);
  std::vector<PoolSharers> pools(view.capacity.size());
  for (Seat& seat : seats) {
    const JobState& job = *seat.job;
    const Pool& pool = view.topology.pool(seat.pool);
    const ScalingCurve& curve = view.curve(job, pool.id);
    PoolSharers& here = pools[pool.id.value];
    here.seats.push_back(&seat);
    // Speeds of the book times the measured factor, written as less or more work.
    here.sharers.push_back(Sharer{.steps = packs
                                               ? packed_steps(curve, pool.gpus, pool.gpus_per_node)
                                               : usable_steps(curve, pool.gpus),
                                  .work = job.work_left(view.now) / job.speed_factor});
  }
  return pools;
}

}  // namespace rubato
