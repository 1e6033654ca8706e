// Which jobs of Gandiva are assigned to which nodes, and who should move when somebody left.
//
// The introspective part of Gandiva (OSDI'18, sections 3.3 and 3.4) without packing; see gandiva.h
// for the policy around it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rubato/core/event.h"
#include "rubato/policy/gandiva/affinity_nodes.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/saved_state.h"

namespace rubato::policy::gandiva {

/// A job and its nodes.
struct AssignedJob {
  rounds::Gang gang{};
  std::vector<NodeShare> nodes{};    // Where it is assigned; empty in the queue.
  Duration had{};                    // Time on GPUs per weight, as its neighbours count it.
  Instant queued{};                  // When it last joined the queue.
  std::vector<NodeShare> runs_on{};  // As last decided; empty if it does not run.
};

/// Finding a place walks the nodes of a pool and all jobs.
class GandivaJobs {
 public:
  /// To be called before all else: the nodes come from the view.
  void begin(const View& view);

  /// Assigns the job or queues it.
  void add(JobId id, const rounds::Gang& gang, const View& view);
  void remove(JobId id, const View& view);
  /// Jobs on a node that goes down join the queue.
  void change_node(const NodeChange& change, const View& view);
  /// Assigns queued jobs, longest waiting first; after `patience` any node will do.
  void serve_queue(Duration patience, const View& view);
  /// After a departure: waiting jobs go to free GPUs, scattered ones to holes, and nodes of which
  /// three quarters are free are emptied into fuller ones.
  void tidy(const View& view);

  [[nodiscard]] std::map<JobId, AssignedJob>& all() { return jobs_; }
  [[nodiscard]] const std::map<JobId, AssignedJob>& all() const { return jobs_; }
  [[nodiscard]] bool is_up(const Node& node) const {
    return pools_[node.pool.value].is_up(node.id);
  }
  /// When a job was last assigned to the node or taken from it.
  [[nodiscard]] Instant changed(NodeId node) const { return changed_.at(node); }

  void save(std::string& state) const;
  /// False if the line is none of ours.
  [[nodiscard]] bool load(const SavedLine& line);

 private:
  /// Saved for a node that is not as at the start.
  struct NodeMemory {
    int affinity = 0;
    bool up = true;
    Instant changed{};
  };

  [[nodiscard]] AffinityNodes& nodes_of(const AssignedJob& job) {
    return pools_[job.gang.pool.value];
  }
  void assign(JobId id, TakeTurns turns, const View& view);
  void assign_to(JobId id, std::vector<NodeShare> nodes, const View& view);
  void unassign(AssignedJob& job, const View& view);
  void move_to(JobId id, NodeId node, const View& view);
  void spread_turns(const View& view);
  void gather_scattered(const View& view);
  void empty_sparse_nodes(const View& view);
  [[nodiscard]] bool is_worth_moving(JobId id, const View& view) const;
  [[nodiscard]] std::map<NodeId, NodeMemory> node_memories() const;

  std::map<JobId, AssignedJob> jobs_;
  std::vector<AffinityNodes> pools_;     // Empty until the first view.
  std::map<NodeId, NodeMemory> loaded_;  // Of load(), until the first view.
  std::map<NodeId, Instant> changed_;
  JobId loading_{};  // The job that the next lines are about.
};

}  // namespace rubato::policy::gandiva
