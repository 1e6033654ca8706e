#include "rubato/policy/baseline/max_min.h"

#include <set>
#include <utility>

#include "rubato/policy/afs/pool_sharers.h"

namespace rubato::policy::baseline {
namespace {

// The sharer with the fewest GPUs is next, ties in their order; who does not fit is out.
void fill_evenly(std::span<afs::Sharer> sharers, int gpus_free) {
  std::set<std::pair<int, std::size_t>> line;
  for (std::size_t i = 0; i < sharers.size(); ++i) {
    line.emplace(0, i);
  }
  while (!line.empty() && gpus_free > 0) {
    afs::Sharer& sharer = sharers[line.begin()->second];
    const std::size_t index = line.begin()->second;
    line.erase(line.begin());
    if (sharer.can_grow() && sharer.next_gpus() <= gpus_free) {
      gpus_free -= sharer.next_gpus();
      ++sharer.taken;
      line.emplace(sharer.now().workers, index);
    }
  }
}

class MaxMin final : public rounds::RoundPolicy {
 protected:
  void hold_round(const View& view, std::span<rounds::Seat> seats) override {
    std::vector<afs::PoolSharers> pools = afs::sharers_by_pool(view, seats, /*packs=*/false);
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
      fill_evenly(pools[pool].sharers, view.capacity[pool]);
      pools[pool].seat_all();
    }
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> make_max_min(const PolicyOptions& options) {
  if (Status status = options.only({}); !status) {
    return status.error();
  }
  return std::unique_ptr<Policy>(std::make_unique<MaxMin>());
}

PolicyInfo max_min_policy() {
  return {.name = "max-min",
          .paper = "folklore; baseline of AFS, NSDI'21",
          .fidelity = "exact",
          .objective = "equal GPUs for all",
          .needs = "speed curve",
          .use_when = "nothing is known about run times and all jobs should have the same",
          .make = make_max_min};
}

}  // namespace rubato::policy::baseline
