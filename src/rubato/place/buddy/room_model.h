// Scratch state of one attempt to make room: who could leave each node, and who has to.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "rubato/place/buddy/room_plan.h"
#include "rubato/place/pool/pool_space.h"

namespace rubato {

/// How a job may be moved.
enum class Hold {
  Node,   // It sits in one node and needs another one with as much room.
  Rack,   // It has whole nodes of one rack and needs as many in one rack.
  Loose,  // It is scattered more than needed, or across racks: any other GPU will do.
  Stuck,  // It is as close as it can be in a shape that we do not move.
};

struct RoomJob {
  JobId id{};
  int gpus = 0;
  Hold hold = Hold::Stuck;
  std::vector<NodePart> parts{};
};

/// Nodes one rack can clear for a request, and what that costs.
struct Clearing {
  std::vector<int> nodes{};    // The ones the request gets.
  std::vector<int> emptied{};  // Single nodes among them that must be emptied.
  std::vector<int> leaving{};  // Jobs of kind Hold::Rack that must leave.
  int moved_gpus = 0;
  int own_gpus = 0;  // What the job that asks has there already.
};

/// One attempt, which lives for one call; copied to try another way. Nodes, jobs and racks are
/// numbers.
class RoomModel {
 public:
  RoomModel(const PoolSpace& space, const RoomRequest& request);

  /// Reserves GPUs of one node for the request; false if its jobs cannot make way.
  bool clear_node(int node, int gpus, int own);
  /// Reserves these nodes for the request.
  void clear(const Clearing& clearing);
  /// Finds a home for everyone who had to leave; false if there is none.
  bool settle();
  /// In executable order: whoever leaves space comes before whoever needs it.
  [[nodiscard]] std::vector<Relocation> relocations() const;

  /// GPUs in a node that its movable jobs smaller than `below` could vacate.
  [[nodiscard]] int evictable(int node, int below) const;
  [[nodiscard]] int free(int node) const { return free_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int own(int node) const { return own_[static_cast<std::size_t>(node)]; }
  /// The cheapest way to have `count` whole nodes in this rack; nothing if there is none.
  [[nodiscard]] std::optional<Clearing> clearing(int rack, int count, bool with_own) const;

 private:
  struct Resident {
    int job = 0;
    int gpus = 0;
  };

  void evict(int job);
  void loosen(int job, int node, int gpus);
  bool settle_in_node(int job);
  bool settle_in_rack(int job);
  bool settle_loose(int job);
  [[nodiscard]] int loose_home(const RoomJob& job, int gpus) const;
  [[nodiscard]] std::vector<int> smaller_jobs(int node, int below) const;

  const PoolSpace& space_;
  std::vector<RoomJob> jobs_;
  std::vector<int> free_;  // GPUs of each node that were free and are not yet given away.
  std::vector<int> own_;   // GPUs of each node that the job that asks holds.
  std::vector<std::vector<Resident>> residents_;
  std::set<std::pair<int, int>> homeless_;  // (-GPUs, job): the largest first.
  std::vector<int> loosened_;               // GPUs each loose job has to find again.
  std::vector<int> settled_;                // Jobs with new homes, largest first.
};

}  // namespace rubato
