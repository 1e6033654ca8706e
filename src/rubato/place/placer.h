// Counts to GPUs: the interface between the engine and a way to place jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/ids.h"
#include "rubato/core/placement.h"
#include "rubato/core/topology.h"

namespace rubato {

struct PlaceRequest {
  JobId job{};
  PoolId pool{};
  int workers = 0;
  bool needs_closeness = false;    // A wider span than needed would slow this job down.
  std::vector<NodeShare> nodes{};  // Where; empty leaves it to the placer.
  std::string_view tenant{};
  bool is_guaranteed = false;  // May claim what its tenant is guaranteed, if placers know of that.
};

/// GPUs that a tenant can count on.
struct TenantQuota {
  std::string tenant{};     // Empty: everybody.
  std::vector<int> gpus{};  // By pool.
};

/// One job to be moved out of another's way.
struct Move {
  JobId job{};
  Placement from{};
  Placement to{};
};

/// The GPUs of one job, for a placer that takes over from another.
struct HeldGpus {
  JobId job{};
  Placement placement{};
};

/// Knows which GPU belongs to whom; never hands out a GPU twice or one whose node is down.
class Placer {
 public:
  virtual ~Placer() = default;

  /// Gives the job exactly `workers` GPUs, in place of what it has now. Keeps its present GPUs as
  /// far as that costs no closeness. Nothing, and nothing changed, if the pool, or one of the nodes
  /// that the request names, has too few free, or a quota is exhausted.
  [[nodiscard]] virtual std::optional<Placement> place(const PlaceRequest& request) = 0;

  /// Jobs that must give way so that `request` can be placed where it is entitled to be; they are
  /// released before they are returned. Empty without quotas.
  [[nodiscard]] virtual std::vector<JobId> preempt(const PlaceRequest& /*request*/) { return {}; }
  /// What tenants are guaranteed. Empty: a request is refused only if the pool has too few free.
  [[nodiscard]] virtual std::vector<TenantQuota> quotas() const { return {}; }

  /// Frees the job's GPUs; no effect if it has none.
  virtual void release(JobId job) = 0;

  /// Moves that would let `request` be placed as close together as an empty pool could, disturbing
  /// the fewest GPUs and only jobs in `movable` (sorted); carried out before they are returned.
  /// Empty if the request already fits or no set of moves helps.
  [[nodiscard]] virtual std::vector<Move> make_room(const PlaceRequest& request,
                                                    std::span<const JobId> movable) = 0;

  /// Takes a node out of use or back; the jobs on a lost node must be released by the caller first.
  virtual void set_node(NodeId node, bool up) = 0;

  /// The job's GPUs; null if it has none.
  [[nodiscard]] virtual const Placement* find(JobId job) const = 0;
  [[nodiscard]] virtual int free_gpus(PoolId pool) const = 0;

  /// What it remembers beside the GPUs of every job and the nodes that are down.
  [[nodiscard]] virtual std::vector<std::int64_t> memory() const { return {}; }
  /// Makes a new placer, which knows the nodes that are down, one that places as the one did whose
  /// memory this is. The GPUs exist, are up and belong to one job each; what is wrong with the
  /// memory is an error.
  [[nodiscard]] virtual Status take_over(std::span<const HeldGpus> held,
                                         std::span<const std::int64_t> memory) = 0;
};

}  // namespace rubato
