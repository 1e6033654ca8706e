#include "rubato/policy/gandiva/gandiva_jobs.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace rubato::policy::gandiva {
namespace {

// A running job that is over sooner is not moved: it would hardly gain what the move costs.
constexpr Duration kWorthMoving = std::chrono::minutes{1};

bool is_on(const AssignedJob& entry, NodeId node) {
  return std::ranges::find(entry.nodes, node, &NodeShare::node) != entry.nodes.end();
}

std::int64_t count(Instant at) { return at.time_since_epoch().count(); }

}  // namespace

void GandivaJobs::begin(const View& view) {
  if (!pools_.empty()) {
    return;
  }
  for (const Pool& pool : view.topology.pools()) {
    pools_.emplace_back(view.topology, pool.id);
  }
  for (const auto& [id, entry] : jobs_) {
    nodes_of(entry).add(entry.nodes);
  }
  for (const auto& [id, memory] : loaded_) {
    AffinityNodes& nodes = pools_[view.topology.node(id).pool.value];
    nodes.set_affinity(id, memory.affinity);
    nodes.set_node(id, memory.up);
    changed_[id] = memory.changed;
  }
  loaded_.clear();
}

// Without a place it stays in the queue.
void GandivaJobs::assign(JobId id, TakeTurns turns, const View& view) {
  AssignedJob& entry = jobs_.at(id);
  auto where = nodes_of(entry).place(entry.gang.workers, turns);
  if (where) {
    nodes_of(entry).remove(*where);  // assign_to() counts it again.
    assign_to(id, *std::move(where), view);
  }
}

// A newcomer has had as much time as the neighbour who had least.
void GandivaJobs::assign_to(JobId id, std::vector<NodeShare> nodes, const View& view) {
  AssignedJob& entry = jobs_.at(id);
  std::optional<Duration> least;
  for (const auto& [other, assigned] : jobs_) {
    const AssignedJob& each = assigned;
    const bool is_neighbour = other != id && std::ranges::any_of(nodes, [&](const NodeShare& on) {
                                return is_on(each, on.node);
                              });
    if (is_neighbour && (!least || each.had < *least)) {
      least = each.had;
    }
  }
  entry.had = least.value_or(entry.had);
  entry.nodes = std::move(nodes);
  nodes_of(entry).add(entry.nodes);
  for (const NodeShare& share : entry.nodes) {
    changed_[share.node] = view.now;
  }
}

void GandivaJobs::unassign(AssignedJob& entry, const View& view) {
  nodes_of(entry).remove(entry.nodes);
  for (const NodeShare& share : entry.nodes) {
    changed_[share.node] = view.now;
  }
  entry.nodes.clear();
  entry.queued = view.now;
}

void GandivaJobs::move_to(JobId id, NodeId node, const View& view) {
  AssignedJob& entry = jobs_.at(id);
  unassign(entry, view);
  assign_to(id, {{.node = node, .workers = entry.gang.workers}}, view);
}

void GandivaJobs::change_node(const NodeChange& change, const View& view) {
  AffinityNodes& nodes = pools_[view.topology.node(change.node).pool.value];
  nodes.set_node(change.node, change.up);
  for (auto& [id, entry] : jobs_) {
    if (!change.up && is_on(entry, change.node)) {
      unassign(entry, view);
    }
  }
}

// In the order in which they joined it.
void GandivaJobs::serve_queue(Duration patience, const View& view) {
  std::vector<std::pair<Instant, JobId>> queue;
  for (const auto& [id, entry] : jobs_) {
    if (entry.nodes.empty()) {
      queue.emplace_back(entry.queued, id);
    }
  }
  std::ranges::sort(queue);
  for (const auto& [since, id] : queue) {
    const bool is_patient = view.now < later(since, patience);
    assign(id, is_patient ? TakeTurns::WithItsSize : TakeTurns::WithAnyone, view);
  }
}

bool GandivaJobs::is_worth_moving(JobId id, const View& view) const {
  const AssignedJob& entry = jobs_.at(id);
  return entry.runs_on.empty() ||
         rounds::run_time_left(view.jobs.at(id), entry.gang, view) > kWorthMoving;
}

// Jobs that wait for their turn go where they need not, those who had least first.
void GandivaJobs::spread_turns(const View& view) {
  std::vector<std::pair<Duration, JobId>> waiting;
  for (const auto& [id, entry] : jobs_) {
    if (!entry.nodes.empty() && entry.runs_on.empty()) {
      waiting.emplace_back(entry.had, id);
    }
  }
  std::ranges::sort(waiting);
  for (const auto& [had, id] : waiting) {
    AssignedJob& entry = jobs_.at(id);
    AffinityNodes& nodes = nodes_of(entry);
    const bool takes_turns = std::ranges::any_of(entry.nodes, [&](const NodeShare& share) {
      return nodes.asked(share.node) > nodes.gpus(share.node);
    });
    const std::vector<NodeShare> before = entry.nodes;
    if (!takes_turns) {
      continue;
    }
    nodes.remove(before);
    const auto where = nodes.place(entry.gang.workers, TakeTurns::Never);
    if (where) {
      nodes.remove(*where);
    }
    nodes.add(before);
    if (where) {
      unassign(entry, view);
      assign_to(id, *where, view);
    }
  }
}

void GandivaJobs::gather_scattered(const View& view) {
  for (const auto& [id, entry] : jobs_) {
    if (entry.nodes.size() > 1 && is_worth_moving(id, view)) {
      if (const auto node = nodes_of(entry).hole(entry.gang.workers)) {
        move_to(id, *node, view);
      }
    }
  }
}

// Nodes of which three quarters are free give their jobs to fuller ones.
void GandivaJobs::empty_sparse_nodes(const View& view) {
  std::vector<std::tuple<int, NodeId, JobId>> sparse;
  for (const auto& [id, entry] : jobs_) {
    if (entry.nodes.size() == 1) {
      const NodeId node = entry.nodes.front().node;
      const int gpus = nodes_of(entry).gpus(node);
      const int room = gpus - nodes_of(entry).asked(node);
      if (4 * room >= 3 * gpus) {
        sparse.emplace_back(-room, node, id);
      }
    }
  }
  std::ranges::sort(sparse);
  for (const auto& [room, node, id] : sparse) {
    const auto fuller = nodes_of(jobs_.at(id)).hole(jobs_.at(id).gang.workers, node);
    if (fuller && is_worth_moving(id, view)) {
      move_to(id, *fuller, view);
    }
  }
}

void GandivaJobs::tidy(const View& view) {
  spread_turns(view);
  gather_scattered(view);
  empty_sparse_nodes(view);
}

std::map<NodeId, GandivaJobs::NodeMemory> GandivaJobs::node_memories() const {
  std::map<NodeId, NodeMemory> memories = loaded_;
  for (const auto& [id, at] : changed_) {
    memories[id].changed = at;
  }
  for (const AffinityNodes& nodes : pools_) {
    for (const NodeId id : nodes.ids()) {
      if (nodes.affinity(id) != 0 || !nodes.is_up(id) || memories.contains(id)) {
        memories[id].affinity = nodes.affinity(id);
        memories[id].up = nodes.is_up(id);
      }
    }
  }
  return memories;
}

void GandivaJobs::add(JobId id, const rounds::Gang& gang, const View& view) {
  jobs_[id] = AssignedJob{.gang = gang, .queued = view.now};
  assign(id, TakeTurns::WithItsSize, view);
}

void GandivaJobs::remove(JobId id, const View& view) {
  unassign(jobs_.at(id), view);
  jobs_.erase(id);
}

void GandivaJobs::save(std::string& state) const {
  for (const auto& [id, memory] : node_memories()) {
    append_line(state, "node",
                {static_cast<std::int64_t>(id.value), memory.affinity, memory.up ? 1 : 0,
                 count(memory.changed)});
  }
  for (const auto& [id, entry] : jobs_) {
    append_line(
        state, "job",
        {static_cast<std::int64_t>(id.value), static_cast<std::int64_t>(entry.gang.pool.value),
         entry.gang.workers, entry.had.count(), count(entry.queued)});
    for (const NodeShare& share : entry.nodes) {
      append_line(state, "on", {static_cast<std::int64_t>(share.node.value), share.workers});
    }
    for (const NodeShare& share : entry.runs_on) {
      append_line(state, "runs", {static_cast<std::int64_t>(share.node.value), share.workers});
    }
  }
}

bool GandivaJobs::load(const SavedLine& line) {
  const auto& n = line.numbers;
  const auto id = [&](std::size_t i) { return static_cast<std::uint64_t>(n[i]); };
  const auto number = [&](std::size_t i) { return static_cast<int>(n[i]); };
  const auto moment = [&](std::size_t i) { return Instant{Duration{n[i]}}; };
  const auto job = jobs_.find(loading_);
  if (line.word == "node" && n.size() == 4) {
    loaded_[NodeId{id(0)}] = {.affinity = number(1), .up = n[2] != 0, .changed = moment(3)};
  } else if (line.word == "job" && n.size() == 5) {
    loading_ = JobId{id(0)};
    jobs_[loading_] = AssignedJob{.gang = {.pool = PoolId{id(1)}, .workers = number(2)},
                                  .had = Duration{n[3]},
                                  .queued = moment(4)};
  } else if (line.word == "on" && n.size() == 2 && job != jobs_.end()) {
    job->second.nodes.push_back({.node = NodeId{id(0)}, .workers = number(1)});
  } else if (line.word == "runs" && n.size() == 2 && job != jobs_.end()) {
    job->second.runs_on.push_back({.node = NodeId{id(0)}, .workers = number(1)});
  } else {
    return false;
  }
  return true;
}

}  // namespace rubato::policy::gandiva
