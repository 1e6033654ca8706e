// A placer that takes over from another places as that one would have.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/place/hived/hived_cells.h"
#include "rubato/place/pool/gpu_ranges.h"
#include "rubato/place/registry/placer_registry.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

constexpr std::uint64_t kJobsMax = 12;

/// One placer with what happened to its nodes.
struct PlacerLife {
  const Topology& topology;
  std::string name{};
  std::unique_ptr<Placer> placer{};
  std::set<NodeId> down{};

  [[nodiscard]] std::unique_ptr<Placer> fresh() const {
    return make_placer(name, topology, {}).value();
  }
  [[nodiscard]] std::vector<HeldGpus> held() const {
    std::vector<HeldGpus> held;
    for (std::uint64_t id = 1; id <= kJobsMax; ++id) {
      if (const Placement* placement = placer->find(JobId{id})) {
        held.push_back({.job = JobId{id}, .placement = *placement});
      }
    }
    return held;
  }
  [[nodiscard]] std::unique_ptr<Placer> heir() const {
    auto heir = fresh();
    for (const NodeId node : down) {
      heir->set_node(node, false);
    }
    EXPECT_TRUE(heir->take_over(held(), placer->memory()).ok());
    return heir;
  }
};

void lose_or_regain(PlacerLife& life, NodeId id) {
  const Node& node = life.topology.node(id);
  const bool up = life.down.contains(id);
  for (const HeldGpus& each : life.held()) {
    const GpuRange window{.first = node.first_gpu, .count = node.gpus};
    if (!up && overlap(each.placement.ranges, window) > 0) {
      life.placer->release(each.job);
    }
  }
  life.placer->set_node(id, up);
  up ? static_cast<void>(life.down.erase(id)) : static_cast<void>(life.down.insert(id));
}

// A request that says the same for the same numbers; a job's priority changes now and then.
PlaceRequest drawn_request(Random& random) {
  const auto job = static_cast<std::uint64_t>(random.integer(1, kJobsMax));
  return {.job = JobId{job},
          .workers = static_cast<int>(random.integer(1, 6)),
          .needs_closeness = random.chance(0.5),
          .tenant = job % 2 == 0 ? "a" : "b",
          .is_guaranteed = job % 3 != 0 && random.chance(0.9)};
}

/// What a placer did about a request.
struct Placing {
  std::vector<JobId> gone{};
  std::optional<Placement> placement{};

  friend bool operator==(const Placing&, const Placing&) = default;
};

Placing ask_for(Placer& placer, const PlaceRequest& request) {
  Placing outcome{.gone = placer.preempt(request)};
  outcome.placement = placer.place(request);
  return outcome;
}

void expect_heirs_alike(std::string_view machines, const std::string& name) {
  const Topology topology = cluster(machines);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    PlacerLife life{.topology = topology, .name = name};
    life.placer = life.fresh();
    for (int step = 0; step < 60; ++step) {
      if (random.chance(0.1)) {
        lose_or_regain(life, NodeId{random.next() % topology.nodes().size()});
      } else if (random.chance(0.25)) {
        life.placer->release(JobId{random.next() % kJobsMax + 1});
      }
      const PlaceRequest request = drawn_request(random);
      const auto heir = life.heir();
      ASSERT_EQ(heir->memory(), life.placer->memory());
      ASSERT_EQ(heir->free_gpus(kPool), life.placer->free_gpus(kPool));
      const Placing expected = ask_for(*life.placer, request);
      ASSERT_EQ(ask_for(*heir, request), expected) << "seed " << seed << " step " << step;
    }
  }
}

TEST(TakeOver, FromABuddyPlacerChangesNothing) {
  expect_heirs_alike("4x4", "buddy");
  expect_heirs_alike("3x8", "buddy");
}

TEST(TakeOver, FromAHivedPlacerChangesNothing) {
  expect_heirs_alike("4x8", "hived:vc=a:1x8+1x4+2x1/b:2x4");
  expect_heirs_alike("3x4", "hived:vc=a:1x4+1x2/b:1x4");
}

TEST(TakeOver, WithAMemoryThatCannotBeIsAnError) {
  const Topology topology = cluster("2x4");
  const std::vector<HeldGpus> held = {
      {.job = JobId{1}, .placement = {.pool = kPool, .ranges = {{0, 2}}}}};
  const auto is_taken = [&](const std::string& name, const std::vector<std::int64_t>& memory) {
    return make_placer(name, topology, {}).value()->take_over(held, memory).ok();
  };
  const std::string hived = "hived:vc=a:1x4";

  EXPECT_TRUE(is_taken("buddy", {}));
  EXPECT_FALSE(is_taken("buddy", {0}));
  EXPECT_TRUE(is_taken(hived, {0}));
  EXPECT_TRUE(is_taken(hived, {1, 1, 0, 0, 0, 3, 0}));   // Job 1 on a cell of level 3 at GPU 0.
  EXPECT_FALSE(is_taken(hived, {1, 1, 0, 0, 0, 3, 4}));  // On another cell than its own,
  EXPECT_FALSE(is_taken(hived, {1, 1, 0, 0, 0, 2, 0}));  // on one that its tenant is not owed,
  EXPECT_FALSE(is_taken(hived, {1, 1, 0, 0, 1, 3, 0}));  // of another tenant,
  EXPECT_FALSE(is_taken(hived, {1, 1, 0, 1, 0, 3, 0}));  // in another pool,
  EXPECT_FALSE(is_taken(hived, {1, 1, 0, 0, 0, 3, 1}));  // or on none.
  EXPECT_FALSE(is_taken(hived, {1, 2, 0, 0, 0, 3, 0}));  // Another job.
  EXPECT_FALSE(is_taken(hived, {0, 0, 0, 3, 0}));        // A cell that nobody uses.
  EXPECT_FALSE(is_taken(hived, {1, 1, 0, 0, 0, 3}));     // Cut short,
  EXPECT_FALSE(is_taken(hived, {}));                     // or altogether.
  EXPECT_FALSE(is_taken(hived, {-1}));
}

TEST(HivedCells, TakesACertainCellWhereverItIsFree) {
  HivedCells cells({2, 2}, 2);  // Two of four GPUs.

  EXPECT_TRUE(cells.take(1, 5));
  EXPECT_FALSE(cells.take(1, 5));
  EXPECT_FALSE(cells.take(2, 4));
  EXPECT_FALSE(cells.take(2, 1));
  EXPECT_FALSE(cells.take(1, 8));
  EXPECT_FALSE(cells.take(4, 0));
  EXPECT_TRUE(cells.take(2, 6));
  EXPECT_EQ(cells.free(1), std::set<int>{4});
  cells.release(1, {.first = 5, .count = 1});
  cells.release(2, {.first = 6, .count = 2});
  EXPECT_EQ(cells.free(3), (std::set<int>{0, 4}));
}

}  // namespace
}  // namespace rubato
