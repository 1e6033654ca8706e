#include "rubato/place/buddy/consolidation.h"

#include <algorithm>
#include <utility>

namespace rubato {

std::vector<Move> consolidate(BuddyPlacer& placer, std::span<const JobId> movable, int moves_max) {
  std::vector<std::pair<int, JobId>> scattered;
  for (const JobId job : movable) {
    if (placer.is_scattered(job)) {
      scattered.emplace_back(placer.find(job)->gpus(), job);
    }
  }
  std::ranges::sort(scattered);
  std::vector<Move> moves;
  for (const auto& [gpus, job] : scattered) {
    if (static_cast<int>(moves.size()) >= moves_max) {
      break;
    }
    if (auto move = placer.move_closer(job)) {
      moves.push_back(std::move(*move));
    }
  }
  return moves;
}

}  // namespace rubato
