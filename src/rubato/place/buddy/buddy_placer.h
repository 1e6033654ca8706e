// Places jobs by buddy blocks that follow the topology, and defragments by planned migration.
//
// The scheme of ElasticFlow (ASPLOS'23, section 4.3: buddy allocation with migration, no
// fragmentation for powers of two), with these differences: blocks follow switches, nodes and racks
// of any size, not only powers of two; other counts and broken pools work, without the guarantee;
// a job that finds no close GPUs is scattered instead of refused.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "rubato/core/topology.h"
#include "rubato/place/buddy/room_plan.h"
#include "rubato/place/placer.h"
#include "rubato/place/pool/pool_space.h"

namespace rubato {

/// Placing and releasing cost O(levels) for each node a job has. A shrinking job keeps a part of
/// its GPUs; if it needs closeness it moves instead, should that narrow its span.
class BuddyPlacer final : public Placer {
 public:
  explicit BuddyPlacer(const Topology& topology);

  [[nodiscard]] std::optional<Placement> place(const PlaceRequest& request) override;
  void release(JobId job) override;
  [[nodiscard]] std::vector<Move> make_room(const PlaceRequest& request,
                                            std::span<const JobId> movable) override;
  void set_node(NodeId node, bool up) override;

  [[nodiscard]] const Placement* find(JobId job) const override;
  [[nodiscard]] int free_gpus(PoolId pool) const override;
  [[nodiscard]] Status take_over(std::span<const HeldGpus> held,
                                 std::span<const std::int64_t> memory) override;

  /// True if the job could lie closer together in an empty pool.
  [[nodiscard]] bool is_scattered(JobId job) const;
  /// Moves the job to free GPUs with a narrower span; nothing, and nothing changed, without such.
  [[nodiscard]] std::optional<Move> move_closer(JobId job);

 private:
  struct Home {
    PoolId pool{};
    int number = 0;  // Of the node inside its pool.
  };

  [[nodiscard]] PoolSpace& space(PoolId pool);
  [[nodiscard]] const PoolSpace& space(PoolId pool) const;
  [[nodiscard]] GpuRanges resized(PoolSpace& space, const GpuRanges& own,
                                  const PlaceRequest& request) const;
  [[nodiscard]] std::optional<Placement> place_on(const PlaceRequest& request);
  [[nodiscard]] bool fits_already(const PlaceRequest& request);
  [[nodiscard]] Move carry_out(PoolSpace& space, const Relocation& relocation);

  std::vector<PoolSpace> spaces_;                    // By pool.
  std::vector<Home> homes_;                          // By node.
  std::unordered_map<JobId, Placement> placements_;  // Looked up, never walked.
};

}  // namespace rubato
