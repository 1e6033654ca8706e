#include "rubato/place/buddy/room_model.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "rubato/base/check.h"
#include "rubato/place/pool/position.h"

namespace rubato {
namespace {

// How the job may be moved, by where it lies now.
Hold hold_of(const PoolSpace& space, const RoomJob& job) {
  if (job.parts.size() == 1) {
    return Hold::Node;
  }
  const int gpus_per_node = space.gpus_per_node();
  const Locality narrowest = space.narrowest_span(job.gpus);
  const bool in_rack =
      space.node(job.parts.front().node).rack == space.node(job.parts.back().node).rack;
  if (!in_rack || narrowest == Locality::Across) {
    return Hold::Loose;
  }
  const auto is_whole = [&](const NodePart& part) { return part.gpus == gpus_per_node; };
  if (std::ranges::all_of(job.parts, is_whole)) {
    return Hold::Rack;
  }
  const int nodes_min = (job.gpus + gpus_per_node - 1) / gpus_per_node;
  const bool is_tight =
      narrowest == Locality::Rack && static_cast<int>(job.parts.size()) == nodes_min;
  return is_tight ? Hold::Stuck : Hold::Loose;
}

// One way to vacate a node: everyone in it leaves. Where the job that asks is already comes first:
// the others could not use what it leaves, since it leaves last.
struct Single {
  bool is_foreign = true;
  int gpus = 0;  // To be moved.
  int node = 0;
};

// Another way to vacate nodes: a job that has whole nodes of the rack.
struct Group {
  int nodes = 0;
  int job = 0;
};

// Groups (largest first) with this many nodes in all; if none have exactly that, more unless
// `exactly`. Nothing if that is not to be had either.
std::optional<std::vector<int>> groups_of(const std::vector<Group>& groups, int nodes,
                                          bool exactly) {
  std::vector<int> chosen;
  int left_out = -1;
  for (const Group& group : groups) {
    if (group.nodes <= nodes) {
      chosen.push_back(group.job);
      nodes -= group.nodes;
    } else {
      left_out = group.job;
    }
  }
  if (nodes > 0) {
    if (exactly || left_out < 0) {
      return std::nullopt;
    }
    chosen.push_back(left_out);
  }
  return chosen;
}

// Nodes that are free, nodes to be emptied and groups that leave, together `count` nodes: as many
// emptied as possible, since those move fewer GPUs each, but no more nodes than wanted.
std::optional<Clearing> cheapest(std::vector<int> ready, const std::vector<Single>& single,
                                 const std::vector<Group>& groups, int count) {
  const int missing = std::max(0, count - static_cast<int>(ready.size()));
  const int emptied_max = std::min(missing, static_cast<int>(single.size()));
  std::optional<std::vector<int>> leaving;
  int emptied = emptied_max;
  for (; emptied >= 0 && !leaving; --emptied) {
    leaving = groups_of(groups, missing - emptied, /*exactly=*/true);
  }
  ++emptied;
  if (!leaving) {
    emptied = emptied_max;
    leaving = groups_of(groups, missing - emptied, /*exactly=*/false);
  }
  if (!leaving) {
    return std::nullopt;
  }
  Clearing found{.nodes = std::move(ready), .leaving = std::move(*leaving)};
  for (const Single& each : std::span(single).first(at(emptied))) {
    found.moved_gpus += each.gpus;
    found.emptied.push_back(each.node);
    found.nodes.push_back(each.node);
  }
  return found;
}

}  // namespace

RoomModel::RoomModel(const PoolSpace& space, const RoomRequest& request)
    : space_(space),
      own_(space.nodes().size()),
      residents_(space.nodes().size()),
      loosened_(request.movable.size()) {
  for (const NodeSpace& node : space.nodes()) {
    free_.push_back(node.free);
  }
  for (const int node : space.nodes_of(request.own)) {
    own_[at(node)] = overlap(request.own, space.node(node).gpus);
  }
  for (const Movable& movable : request.movable) {
    RoomJob job{.id = movable.job, .gpus = total(movable.gpus)};
    const int number = static_cast<int>(jobs_.size());
    for (const int node : space.nodes_of(movable.gpus)) {
      job.parts.push_back({.node = node, .gpus = overlap(movable.gpus, space.node(node).gpus)});
      residents_[at(node)].push_back({.job = number, .gpus = job.parts.back().gpus});
    }
    job.hold = hold_of(space, job);
    jobs_.push_back(std::move(job));
  }
}

int RoomModel::evictable(int node, int below) const {
  int gpus = 0;
  for (const Resident& resident : residents_[at(node)]) {
    const RoomJob& job = jobs_[at(resident.job)];
    if (job.hold == Hold::Loose || (job.hold == Hold::Node && job.gpus < below)) {
      gpus += resident.gpus;
    }
  }
  return gpus;
}

// The jobs of kind Hold::Node in a node that are smaller than this, the largest first.
std::vector<int> RoomModel::smaller_jobs(int node, int below) const {
  std::vector<int> found;
  for (const Resident& resident : residents_[at(node)]) {
    const RoomJob& job = jobs_[at(resident.job)];
    if (job.hold == Hold::Node && job.gpus < below) {
      found.push_back(resident.job);
    }
  }
  std::ranges::sort(found, [this](int left, int right) {
    return std::pair(-jobs_[at(left)].gpus, left) < std::pair(-jobs_[at(right)].gpus, right);
  });
  return found;
}

// Makes a job homeless. What it had is not free: it belongs to whoever made it leave.
void RoomModel::evict(int job) {
  for (const NodePart& part : jobs_[at(job)].parts) {
    std::erase_if(residents_[at(part.node)],
                  [job](const Resident& resident) { return resident.job == job; });
  }
  homeless_.insert({-jobs_[at(job)].gpus, job});
}

// Takes GPUs of one node away from a loose job.
void RoomModel::loosen(int job, int node, int gpus) {
  const auto resident = std::ranges::find(residents_[at(node)], job, &Resident::job);
  const auto part = std::ranges::find(jobs_[at(job)].parts, node, &NodePart::node);
  resident->gpus -= gpus;
  part->gpus -= gpus;
  loosened_[at(job)] += gpus;
  std::erase_if(residents_[at(node)], [](const Resident& each) { return each.gpus == 0; });
}

bool RoomModel::clear_node(int node, int gpus, int own) {
  int missing = gpus - own - free_[at(node)];
  free_[at(node)] = std::max(0, -missing);
  std::optional<int> left_out;
  for (const int job : smaller_jobs(node, gpus)) {
    if (jobs_[at(job)].gpus <= missing) {
      missing -= jobs_[at(job)].gpus;
      evict(job);
    } else {
      left_out = job;
    }
  }
  const std::vector<Resident> others = residents_[at(node)];
  for (const Resident& resident : others) {
    const int part = std::min(missing, resident.gpus);
    if (jobs_[at(resident.job)].hold == Hold::Loose && part > 0) {
      loosen(resident.job, node, part);
      missing -= part;
    }
  }
  if (missing > 0 && left_out) {
    missing -= jobs_[at(*left_out)].gpus;
    evict(*left_out);
  }
  return missing <= 0;
}

std::optional<Clearing> RoomModel::clearing(int rack, int count, bool with_own) const {
  const int gpus_per_node = space_.gpus_per_node();
  std::vector<int> ready;
  std::vector<Single> single;
  std::vector<Group> groups;
  const RackSpace& here = space_.rack(rack);
  for (int node = here.first_node; node < here.first_node + here.nodes; ++node) {
    const bool is_usable = space_.node(node).up && space_.node(node).gpus.count == gpus_per_node;
    if (!is_usable || (own(node) > 0 && !with_own)) {
      continue;
    }
    const int occupied = gpus_per_node - free(node) - own(node);
    const std::vector<Resident>& residents = residents_[at(node)];
    if (occupied == 0) {
      ready.insert(own(node) > 0 ? ready.begin() : ready.end(), node);
    } else if (evictable(node, gpus_per_node + 1) == occupied) {
      single.push_back({.is_foreign = own(node) == 0, .gpus = occupied, .node = node});
    } else if (!residents.empty() && jobs_[at(residents.front().job)].hold == Hold::Rack) {
      const RoomJob& job = jobs_[at(residents.front().job)];
      const int nodes = static_cast<int>(job.parts.size());
      if (job.parts.front().node == node && nodes < count) {
        groups.push_back({.nodes = nodes, .job = residents.front().job});
      }
    }
  }
  std::ranges::sort(single, {}, [](const Single& each) {
    return std::tuple(each.is_foreign, each.gpus, each.node);
  });
  std::ranges::stable_sort(groups, std::ranges::greater{}, &Group::nodes);
  auto found = cheapest(std::move(ready), single, groups, count);
  for (const int job : found ? found->leaving : std::vector<int>{}) {
    found->moved_gpus += jobs_[at(job)].gpus;
    for (const NodePart& part : jobs_[at(job)].parts) {
      found->nodes.push_back(part.node);
    }
  }
  if (found) {
    found->nodes.resize(std::min(found->nodes.size(), at(count)));
    for (const int node : found->nodes) {
      found->own_gpus += own(node);
    }
  }
  return found;
}

void RoomModel::clear(const Clearing& clearing) {
  for (const int node : clearing.emptied) {
    const std::vector<Resident> residents = residents_[at(node)];
    for (const Resident& resident : residents) {
      if (jobs_[at(resident.job)].hold == Hold::Loose) {
        loosen(resident.job, node, resident.gpus);
      } else {
        evict(resident.job);
      }
    }
  }
  for (const int job : clearing.leaving) {
    evict(job);
  }
  for (const int node : clearing.nodes) {
    free_[at(node)] = 0;
  }
}

// Best fit in free space; else where the fewest smaller jobs have to make way.
bool RoomModel::settle_in_node(int job) {
  const int gpus = jobs_[at(job)].gpus;
  int home = -1;
  std::tuple<bool, int, int> best{};
  for (int node = 0; node < static_cast<int>(free_.size()); ++node) {
    const bool fits = free(node) >= gpus;
    const bool can_fit = fits || free(node) + evictable(node, gpus) >= gpus;
    const std::tuple key{!fits, fits ? free(node) : -free(node), node};
    if (can_fit && (home < 0 || key < best)) {
      home = node;
      best = key;
    }
  }
  if (home < 0 || !clear_node(home, gpus, 0)) {
    return false;
  }
  jobs_[at(job)].parts = {{.node = home, .gpus = gpus}};
  return true;
}

bool RoomModel::settle_in_rack(int job) {
  const int count = static_cast<int>(jobs_[at(job)].parts.size());
  std::optional<Clearing> best;
  for (int rack = 0; rack < static_cast<int>(space_.racks().size()); ++rack) {
    auto found = clearing(rack, count, /*with_own=*/false);
    if (found && (!best || found->moved_gpus < best->moved_gpus)) {
      best = std::move(found);
    }
  }
  if (!best) {
    return false;
  }
  clear(*best);
  std::ranges::sort(best->nodes);
  jobs_[at(job)].parts.clear();
  for (const int node : best->nodes) {
    jobs_[at(job)].parts.push_back({.node = node, .gpus = space_.gpus_per_node()});
  }
  return true;
}

// The node for GPUs of a loose job: near the rest of it, a good fit, else one with much free.
int RoomModel::loose_home(const RoomJob& job, int gpus) const {
  std::set<int> racks;
  for (const NodePart& part : job.parts) {
    racks.insert(space_.node(part.node).rack);
  }
  int home = -1;
  std::tuple<bool, bool, int> best{};
  for (int node = 0; node < static_cast<int>(free_.size()); ++node) {
    const bool fits = free(node) >= gpus;
    const std::tuple key{!racks.contains(space_.node(node).rack), !fits,
                         fits ? free(node) : -free(node)};
    if (free(node) > 0 && (home < 0 || key < best)) {
      home = node;
      best = key;
    }
  }
  return home;
}

bool RoomModel::settle_loose(int number) {
  RoomJob& job = jobs_[at(number)];
  for (int missing = loosened_[at(number)]; missing > 0;) {
    const int home = loose_home(job, missing);
    if (home < 0) {
      return false;
    }
    const int gpus = std::min(missing, free(home));
    const auto part = std::ranges::find(job.parts, home, &NodePart::node);
    if (part == job.parts.end()) {
      job.parts.push_back({.node = home, .gpus = gpus});
    } else {
      part->gpus += gpus;
    }
    free_[at(home)] -= gpus;
    missing -= gpus;
  }
  std::erase_if(job.parts, [](const NodePart& part) { return part.gpus == 0; });
  std::ranges::sort(job.parts, {}, &NodePart::node);
  return true;
}

bool RoomModel::settle() {
  while (!homeless_.empty()) {
    const int job = homeless_.begin()->second;
    homeless_.erase(homeless_.begin());
    const bool is_rack = jobs_[at(job)].hold == Hold::Rack;
    if (!(is_rack ? settle_in_rack(job) : settle_in_node(job))) {
      return false;
    }
    settled_.push_back(job);
  }
  for (int job = 0; job < static_cast<int>(jobs_.size()); ++job) {
    if (!settle_loose(job)) {
      return false;
    }
  }
  return true;
}

std::vector<Relocation> RoomModel::relocations() const {
  std::vector<Relocation> moves;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (loosened_[job] > 0) {
      moves.push_back({.job = jobs_[job].id, .parts = jobs_[job].parts});
    }
  }
  for (auto job = settled_.rbegin(); job != settled_.rend(); ++job) {
    moves.push_back({.job = jobs_[at(*job)].id, .parts = jobs_[at(*job)].parts});
  }
  return moves;
}

}  // namespace rubato
