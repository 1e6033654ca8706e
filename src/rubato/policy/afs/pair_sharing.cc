#include "rubato/policy/afs/pair_sharing.h"

namespace rubato::policy::afs {

PairContender contender_of(const Sharer& sharer, std::size_t index) {
  if (!sharer.can_grow()) {
    return PairContender{.sharer = index, .gpus = PairContender::kNoBlock};
  }
  return PairContender{.sharer = index,
                       .gpus = sharer.next_gpus(),
                       .bid = bid_of(sharer.work, sharer.now(), sharer.steps[sharer.taken])};
}

int give_smallest(std::span<Sharer> sharers, std::span<const std::size_t> order, int gpus_free) {
  for (const std::size_t i : order) {
    Sharer& sharer = sharers[i];
    if (sharer.can_grow() && sharer.taken == 0 && sharer.next_gpus() <= gpus_free) {
      gpus_free -= sharer.next_gpus();
      sharer.taken = 1;
    }
  }
  return gpus_free;
}

}  // namespace rubato::policy::afs
