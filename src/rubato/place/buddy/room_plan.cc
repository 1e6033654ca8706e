#include "rubato/place/buddy/room_plan.h"

#include <algorithm>
#include <utility>

#include "rubato/place/buddy/room_model.h"

namespace rubato {
namespace {

// Cheapest places tried before giving up, beside those where the job that asks is already;
// matters only when some jobs may not move.
constexpr std::size_t kAttemptsMax = 8;

// One place that could be cleared.
struct Candidate {
  int moved_gpus = 0;  // Of other jobs, less what the job that asks need not move itself.
  int own_gpus = 0;
  int node = 0;
  Clearing clearing{};  // Instead of the node, if one is not enough.
};

// Nodes in which smaller jobs could make way.
std::vector<Candidate> nodes_to_clear(const PoolSpace& space, const RoomModel& model, int gpus) {
  std::vector<Candidate> found;
  for (int node = 0; node < static_cast<int>(space.nodes().size()); ++node) {
    const int own = model.own(node);
    const int missing = gpus - model.free(node) - own;
    if (space.node(node).up && model.evictable(node, gpus) >= missing) {
      found.push_back({.moved_gpus = missing - own, .own_gpus = own, .node = node});
    }
  }
  return found;
}

// Racks in which enough whole nodes could be emptied.
std::vector<Candidate> racks_to_clear(const PoolSpace& space, const RoomModel& model, int gpus) {
  const int nodes = (gpus + space.gpus_per_node() - 1) / space.gpus_per_node();
  std::vector<Candidate> found;
  for (int rack = 0; rack < static_cast<int>(space.racks().size()); ++rack) {
    if (auto clearing = model.clearing(rack, nodes, /*with_own=*/true)) {
      found.push_back({.moved_gpus = clearing->moved_gpus - clearing->own_gpus,
                       .own_gpus = clearing->own_gpus,
                       .clearing = std::move(*clearing)});
    }
  }
  return found;
}

// Reserves the candidate's GPUs for the request; false if that cannot be.
bool clear(RoomModel& model, const Candidate& candidate, int gpus) {
  if (candidate.clearing.nodes.empty()) {
    return model.clear_node(candidate.node, gpus, candidate.own_gpus);
  }
  model.clear(candidate.clearing);
  return true;
}

}  // namespace

std::optional<std::vector<Relocation>> plan_room(const PoolSpace& space,
                                                 const RoomRequest& request) {
  const Locality narrowest = space.narrowest_span(request.workers);
  if (narrowest == Locality::Across) {
    return std::nullopt;
  }
  const RoomModel start(space, request);
  std::vector<Candidate> candidates = narrowest == Locality::Node
                                          ? nodes_to_clear(space, start, request.workers)
                                          : racks_to_clear(space, start, request.workers);
  std::ranges::stable_sort(candidates, {}, &Candidate::moved_gpus);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i >= kAttemptsMax && candidates[i].own_gpus == 0) {
      continue;
    }
    RoomModel attempt = start;
    if (clear(attempt, candidates[i], request.workers) && attempt.settle()) {
      return attempt.relocations();
    }
  }
  return std::nullopt;
}

}  // namespace rubato
