#include "rubato/place/pool/buddy_tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

Topology machines(const NodeGroup& group) { return Topology(std::span(&group, 1)); }

/// Which GPUs are free, in the plainest way; nodes and racks are powers of two.
struct Bitmap {
  int gpus_per_rack = 0;
  std::vector<bool> free{};

  [[nodiscard]] bool all_free(int first, int count) const {
    return std::all_of(free.begin() + first, free.begin() + first + count,
                       [](bool is_free) { return is_free; });
  }
  // The free aligned block around this GPU that lies in no larger one: its size, zero if none.
  [[nodiscard]] int largest_around(int gpu) const {
    int largest = 0;
    for (int size = 1; size <= gpus_per_rack; size *= 2) {
      largest = all_free(gpu / size * size, size) ? size : largest;
    }
    return largest;
  }
  // The lowest of the smallest such blocks that hold so many.
  [[nodiscard]] std::optional<GpuRange> best(int gpus) const {
    std::optional<GpuRange> found;
    int smallest = 0;
    for (int gpu = 0; gpu < static_cast<int>(free.size()); ++gpu) {
      const int size = largest_around(gpu);
      if (size >= gpus && (!found || size < smallest)) {
        found = GpuRange{.first = gpu, .count = gpus};
        smallest = size;
      }
    }
    return found;
  }
};

// Takes or gives some aligned block, in both worlds, if it is all free or all taken.
void change(BuddyTree& tree, Bitmap& truth, Random& random) {
  const int count = 1 << random.integer(0, 3);
  const auto blocks = static_cast<std::int64_t>(truth.free.size()) / count;
  const GpuRange range{.first = static_cast<int>(random.integer(0, blocks - 1)) * count,
                       .count = count};
  const auto first = truth.free.begin() + range.first;
  const auto free = std::count(first, first + count, true);
  if (free == count) {
    tree.take(range);
  } else if (free == 0) {
    tree.give(range);
  } else {
    return;
  }
  std::fill(first, first + count, free == 0);
}

TEST(BuddyTree, FindsTheBestFitThatASearchOfAllBlocksFinds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int per_node = 1 << random.integer(0, 3);
    const int per_rack = 1 << random.integer(0, 2);
    const NodeGroup group{.nodes = per_rack * 4,
                          .gpus_per_node = per_node,
                          .nodes_per_rack = per_rack,
                          .gpus_per_switch = 2};
    const Topology topology = machines(group);
    BuddyTree tree(topology, kPool);
    const GpuRange pool{.first = 0, .count = topology.gpus()};
    Bitmap truth{.gpus_per_rack = per_node * per_rack};
    truth.free.assign(static_cast<std::size_t>(topology.gpus()), true);
    for (int step = 0; step < 60 && topology.gpus() >= 8; ++step) {
      change(tree, truth, random);
      const int gpus = 1 << random.integer(0, 5);
      const auto found =
          gpus <= per_node ? tree.best_block(pool, gpus) : tree.best_run(pool, gpus / per_node);

      ASSERT_EQ(tree.free_gpus(), std::count(truth.free.begin(), truth.free.end(), true));
      ASSERT_EQ(found, truth.best(gpus)) << "seed " << seed << " step " << step << " " << gpus;
    }
  }
}

TEST(BuddyTree, PicksExactlySoManyFreeGpus) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const NodeGroup group{.nodes = static_cast<int>(random.integer(1, 5)),
                          .gpus_per_node = static_cast<int>(random.integer(1, 12)),
                          .gpus_per_switch = static_cast<int>(random.integer(0, 5))};
    const Topology topology = machines(group);
    BuddyTree tree(topology, kPool);
    const GpuRange pool{.first = 0, .count = topology.gpus()};
    std::vector<GpuRange> owned;
    while (tree.free_gpus() > 0) {
      const auto gpus = static_cast<int>(random.integer(1, tree.free_gpus()));
      const GpuRanges picked =
          owned.empty() ? tree.pick(pool, gpus) : tree.pick_near(pool, owned, gpus);

      ASSERT_EQ(total(picked), gpus) << "seed " << seed;
      for (const GpuRange& range : picked) {
        ASSERT_EQ(tree.free_in(range), range.count) << "seed " << seed;
        tree.take(range);
      }
      const GpuRanges kept = tree.keep(pool, picked, (gpus + 1) / 2);
      ASSERT_EQ(total(kept), (gpus + 1) / 2) << "seed " << seed;
      ASSERT_TRUE(without(kept, picked).empty()) << "seed " << seed;
      owned = joined(owned, picked);
    }
  }
}

TEST(BuddyTree, KnowsTheBlockAroundSomeGpus) {
  const BuddyTree tree(machines({.nodes = 3, .gpus_per_node = 4}), kPool);

  EXPECT_EQ(tree.block_around(GpuRanges{{2, 1}}, 2), (GpuRange{2, 2}));
  EXPECT_EQ(tree.block_around(GpuRanges{{0, 1}, {3, 1}}, 4), (GpuRange{0, 4}));
  EXPECT_EQ(tree.block_around(GpuRanges{{4, 4}}, 8), (GpuRange{0, 8}));
  EXPECT_EQ(tree.block_around(GpuRanges{{1, 2}}, 2), std::nullopt);
  EXPECT_EQ(tree.block_around(GpuRanges{{8, 4}}, 8), std::nullopt);
  EXPECT_EQ(tree.block_around(GpuRanges{{8, 4}}, 12), std::nullopt);
}

TEST(BuddyTreeDeathTest, StopsWhenAGpuIsHandedOutTwice) {
  BuddyTree tree(machines({.nodes = 2, .gpus_per_node = 4}), kPool);
  tree.take({.first = 2, .count = 1});

  EXPECT_DEATH(tree.take({.first = 0, .count = 4}), "does not hold");
  EXPECT_DEATH(tree.give({.first = 2, .count = 2}), "does not hold");
  EXPECT_DEATH(tree.take({.first = 7, .count = 2}), "does not hold");
}

TEST(GpuRanges, JoinsWhatTouchesAndTakesAway) {
  const GpuRanges left{{0, 2}, {6, 2}};
  const GpuRanges right{{2, 1}, {9, 1}};

  EXPECT_EQ(joined(left, right), (GpuRanges{{0, 3}, {6, 2}, {9, 1}}));
  EXPECT_EQ(without(GpuRanges{{0, 10}}, left), (GpuRanges{{2, 4}, {8, 2}}));
  EXPECT_EQ(without(left, GpuRanges{{1, 6}}), (GpuRanges{{0, 1}, {7, 1}}));
  EXPECT_EQ(overlap(left, {.first = 1, .count = 6}), 2);
  EXPECT_EQ(inside(left, {.first = 1, .count = 6}), (GpuRanges{{1, 1}, {6, 1}}));
}

}  // namespace
}  // namespace rubato
