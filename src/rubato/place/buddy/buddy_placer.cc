#include "rubato/place/buddy/buddy_placer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/place/pool/close_fit.h"

namespace rubato {
namespace {

// Exchanges what is taken for the best that is free, if that is closer by `better`.
template <typename Better>
GpuRanges closer_or_same(PoolSpace& space, GpuRanges taken, const Better& better) {
  const Closeness now = space.closeness(taken);
  if (now.span == Locality::Node) {
    return taken;
  }
  space.give(taken);
  GpuRanges fresh = take_close(space, total(taken));
  if (better(space.closeness(fresh), now)) {
    return fresh;
  }
  space.give(fresh);
  space.take(taken);
  return taken;
}

bool is_narrower(const Closeness& left, const Closeness& right) { return left.span < right.span; }

}  // namespace

BuddyPlacer::BuddyPlacer(const Topology& topology) : homes_(topology.nodes().size()) {
  for (const Pool& pool : topology.pools()) {
    spaces_.emplace_back(topology, pool.id);
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      homes_[pool.nodes[i].value] = {.pool = pool.id, .number = static_cast<int>(i)};
    }
  }
}

PoolSpace& BuddyPlacer::space(PoolId pool) { return spaces_.at(pool.value); }

const PoolSpace& BuddyPlacer::space(PoolId pool) const { return spaces_.at(pool.value); }

// The GPUs of a job after a change of its share, taken; what it had and has no more is free.
GpuRanges BuddyPlacer::resized(PoolSpace& space, const GpuRanges& own,
                               const PlaceRequest& request) const {
  const int more = request.workers - total(own);
  if (more == 0) {
    return own;
  }
  if (more > 0) {
    const GpuRanges added = take_near(space, own, more);
    return closer_or_same(space, joined(own, added), std::less<>{});
  }
  GpuRanges kept = part_to_keep(space, own, request.workers);
  space.give(without(own, kept));
  return request.needs_closeness ? closer_or_same(space, std::move(kept), is_narrower) : kept;
}

std::optional<Placement> BuddyPlacer::place(const PlaceRequest& request) {
  RUBATO_CHECK(request.workers > 0);
  if (!request.nodes.empty()) {
    return place_on(request);
  }
  PoolSpace& here = space(request.pool);
  const auto held = placements_.find(request.job);
  const bool stays = held != placements_.end() && held->second.pool == request.pool;
  const int has = stays ? held->second.gpus() : 0;
  if (request.workers - has > here.free_gpus()) {
    return std::nullopt;
  }
  Placement placement{.pool = request.pool};
  if (stays) {
    placement.ranges = resized(here, held->second.ranges, request);
    held->second = placement;
  } else {
    release(request.job);
    placement.ranges = take_close(here, request.workers);
    placements_.emplace(request.job, placement);
  }
  return placement;
}

// Exactly so many GPUs on each node that the request names.
std::optional<Placement> BuddyPlacer::place_on(const PlaceRequest& request) {
  PoolSpace& here = space(request.pool);
  const Placement* held = find(request.job);
  const bool stays = held != nullptr && held->pool == request.pool;
  const GpuRanges own = stays ? held->ranges : GpuRanges{};
  Relocation relocation{.job = request.job};
  for (const NodeShare& share : request.nodes) {
    if (share.node.value >= homes_.size() || homes_[share.node.value].pool != request.pool) {
      return std::nullopt;
    }
    const int number = homes_[share.node.value].number;
    const NodeSpace& node = here.node(number);
    if (!node.up || share.workers > node.free + overlap(own, node.gpus)) {
      return std::nullopt;
    }
    relocation.parts.push_back({.node = number, .gpus = share.workers});
  }
  std::ranges::sort(relocation.parts, {}, &NodePart::node);
  if (!stays) {
    release(request.job);
    placements_[request.job] = Placement{.pool = request.pool};
  }
  return carry_out(here, relocation).to;
}

void BuddyPlacer::release(JobId job) {
  const auto held = placements_.find(job);
  if (held != placements_.end()) {
    space(held->second.pool).give(held->second.ranges);
    placements_.erase(held);
  }
}

// Places the job on trial: true if it comes to lie as close together as it can.
bool BuddyPlacer::fits_already(const PlaceRequest& request) {
  PoolSpace& here = space(request.pool);
  const Placement* held = find(request.job);
  const bool stays = held != nullptr && held->pool == request.pool;
  const GpuRanges own = stays ? held->ranges : GpuRanges{};
  const GpuRanges trial = stays ? resized(here, own, request) : take_close(here, request.workers);
  const Locality span = here.closeness(trial).span;
  here.give(trial);
  here.take(own);
  return span <= here.narrowest_span(request.workers);
}

// Gives the job the parts the plan says, keeping whatever it has in those nodes.
Move BuddyPlacer::carry_out(PoolSpace& space, const Relocation& relocation) {
  Placement& placement = placements_.at(relocation.job);
  Move move{.job = relocation.job, .from = placement};
  GpuRanges kept;
  for (const NodePart& part : relocation.parts) {
    const GpuRange window = space.node(part.node).gpus;
    const int stay = std::min(part.gpus, overlap(placement.ranges, window));
    kept = joined(kept, space.tree().keep(window, placement.ranges, stay));
  }
  GpuRanges all = kept;
  for (const NodePart& part : relocation.parts) {
    const int more = part.gpus - overlap(kept, space.node(part.node).gpus);
    if (more > 0) {
      all = joined(all, take_in_node(space, part.node, kept, more));
    }
  }
  space.give(without(placement.ranges, kept));
  placement.ranges = std::move(all);
  move.to = placement;
  return move;
}

std::vector<Move> BuddyPlacer::make_room(const PlaceRequest& request,
                                         std::span<const JobId> movable) {
  PoolSpace& here = space(request.pool);
  const Placement* held = find(request.job);
  const bool stays = held != nullptr && held->pool == request.pool;
  const GpuRanges own = stays ? held->ranges : GpuRanges{};
  if (request.workers <= total(own) || request.workers > here.free_gpus() + total(own) ||
      fits_already(request)) {
    return {};
  }
  std::vector<Movable> others;
  for (const JobId job : movable) {
    const Placement* placement = find(job);
    if (job != request.job && placement != nullptr && placement->pool == request.pool) {
      others.push_back({.job = job, .gpus = placement->ranges});
    }
  }
  const auto plan = plan_room(here, {.workers = request.workers, .own = own, .movable = others});
  std::vector<Move> moves;
  for (const Relocation& relocation : plan ? *plan : std::vector<Relocation>{}) {
    moves.push_back(carry_out(here, relocation));
  }
  return moves;
}

void BuddyPlacer::set_node(NodeId node, bool up) {
  const Home& home = homes_.at(node.value);
  space(home.pool).set_node(home.number, up);
}

const Placement* BuddyPlacer::find(JobId job) const {
  const auto held = placements_.find(job);
  return held == placements_.end() ? nullptr : &held->second;
}

int BuddyPlacer::free_gpus(PoolId pool) const { return space(pool).free_gpus(); }

// All it knows follows from who holds what.
Status BuddyPlacer::take_over(std::span<const HeldGpus> held,
                              std::span<const std::int64_t> memory) {
  if (!memory.empty()) {
    return bad_input("the placer buddy remembers nothing, but there is a memory for it");
  }
  for (const HeldGpus& each : held) {
    space(each.placement.pool).take(each.placement.ranges);
    placements_.emplace(each.job, each.placement);
  }
  return ok_status();
}

bool BuddyPlacer::is_scattered(JobId job) const {
  const Placement* placement = find(job);
  if (placement == nullptr) {
    return false;
  }
  const PoolSpace& here = space(placement->pool);
  return here.closeness(placement->ranges).span > here.narrowest_span(placement->gpus());
}

std::optional<Move> BuddyPlacer::move_closer(JobId job) {
  const auto held = placements_.find(job);
  if (held == placements_.end()) {
    return std::nullopt;
  }
  Move move{.job = job, .from = held->second, .to = held->second};
  move.to.ranges = closer_or_same(space(held->second.pool), move.from.ranges, is_narrower);
  if (move.to == move.from) {
    return std::nullopt;
  }
  held->second = move.to;
  return move;
}

}  // namespace rubato
