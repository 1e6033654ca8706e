#include "rubato/place/hived/hived_cells.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> sizes_of(const HivedCells& cells) {
  std::vector<int> sizes;
  for (int level = 1; level <= cells.levels(); ++level) {
    sizes.push_back(cells.size(level));
  }
  return sizes;
}

// The sequence of the specification: two nodes of eight GPUs.
TEST(HivedCells, SplitsAndMergesAsInThePaper) {
  HivedCells cells({2, 2, 2}, 2);

  EXPECT_EQ(cells.alloc(1), (GpuRange{.first = 0, .count = 1}));
  EXPECT_EQ(cells.alloc(3), (GpuRange{.first = 4, .count = 4}));
  EXPECT_EQ(cells.alloc(4), (GpuRange{.first = 8, .count = 8}));
  EXPECT_EQ(cells.alloc(2), (GpuRange{.first = 2, .count = 2}));
  EXPECT_THAT(cells.free(1), ElementsAre(1));
  EXPECT_THAT(cells.free(2), IsEmpty());

  cells.release(1, {.first = 0, .count = 1});
  EXPECT_THAT(cells.free(1), IsEmpty());
  EXPECT_THAT(cells.free(2), ElementsAre(0));
  cells.release(2, {.first = 2, .count = 2});
  EXPECT_THAT(cells.free(2), IsEmpty());
  EXPECT_THAT(cells.free(3), ElementsAre(0));
  cells.release(3, {.first = 4, .count = 4});
  EXPECT_THAT(cells.free(3), IsEmpty());
  EXPECT_THAT(cells.free(4), ElementsAre(0));
}

TEST(HivedCells, FollowTheMachines) {
  EXPECT_THAT(sizes_of(HivedCells::of(cluster("1x8"), PoolId{0})), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(sizes_of(HivedCells::of(cluster("3x6"), PoolId{0})), ElementsAre(1, 2, 6, 18));
  const std::vector<NodeGroup> racks = {
      {.nodes = 4, .gpus_per_node = 8, .nodes_per_rack = 2, .gpus_per_switch = 4}};
  EXPECT_THAT(sizes_of(HivedCells::of(Topology(racks), PoolId{0})), ElementsAre(1, 2, 4, 8, 16));
}

TEST(HivedCells, OfUnequalNodesNeverCrossANode) {
  const HivedCells cells = HivedCells::of(cluster("2x8+1x4"), PoolId{0});

  EXPECT_THAT(sizes_of(cells), ElementsAre(1, 2, 4));
  EXPECT_EQ(cells.gpus(), 20);
}

TEST(HivedCells, GiveNothingWhenAllAreTaken) {
  HivedCells cells({2}, 1);
  ASSERT_TRUE(cells.alloc(1).has_value());

  EXPECT_FALSE(cells.alloc(2).has_value());
  EXPECT_TRUE(cells.alloc(1).has_value());
  EXPECT_FALSE(cells.alloc(1).has_value());
}

TEST(HivedCells, TakeTheCheapestAndCutALargerOneIfTheyCannotBeUsed) {
  HivedCells cells({2, 2}, 2);
  const auto high_is_cheap = [](const GpuRange& cell) { return 100 - cell.first; };
  EXPECT_EQ(cells.alloc(2, high_is_cheap), (GpuRange{.first = 6, .count = 2}));

  const auto second_is_down = [](const GpuRange& cell) {
    return cell.first >= 4 ? HivedCells::kUnusable : 0;
  };
  EXPECT_EQ(cells.alloc(2, second_is_down), (GpuRange{.first = 0, .count = 2}));
  EXPECT_EQ(cells.alloc(2, second_is_down), (GpuRange{.first = 2, .count = 2}));
  EXPECT_FALSE(cells.alloc(2, second_is_down).has_value());
  EXPECT_TRUE(cells.alloc(2).has_value());
}

/// Cells that are taken, kept the plain way.
struct Taken {
  int level = 0;
  GpuRange cell{};
};

// The free cells of a level that are no part of a larger free one, by looking at every GPU.
std::vector<int> free_by_hand(const HivedCells& cells, const std::vector<Taken>& taken, int level) {
  std::vector<bool> used(static_cast<std::size_t>(cells.gpus()), false);
  for (const Taken& each : taken) {
    std::fill_n(used.begin() + each.cell.first, each.cell.count, true);
  }
  const auto is_free = [&](int first, int size) {
    return std::none_of(used.begin() + first, used.begin() + first + size,
                        [](bool gpu) { return gpu; });
  };
  std::vector<int> found;
  const int size = cells.size(level);
  for (int first = 0; first < cells.gpus(); first += size) {
    const int above = level < cells.levels() ? cells.size(level + 1) : 0;
    if (is_free(first, size) && (above == 0 || !is_free(first / above * above, above))) {
      found.push_back(first);
    }
  }
  return found;
}

// As many cells of random levels as the empty cluster can hold.
std::vector<int> random_quota(const HivedCells& cells, Random& random) {
  std::vector<int> quota(static_cast<std::size_t>(cells.levels()), 0);
  for (int tries = 0; tries < 30; ++tries) {
    int& count = quota[static_cast<std::size_t>(random.integer(0, cells.levels() - 1))];
    ++count;
    count -= cells.can_hold(quota) ? 0 : 1;
  }
  return quota;
}

TEST(HivedCells, EveryLegalRequestSucceeds) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    std::vector<int> fan_outs;
    for (auto levels = random.integer(0, 3); levels > 0; --levels) {
      fan_outs.push_back(static_cast<int>(random.integer(2, 4)));
    }
    HivedCells cells(fan_outs, static_cast<int>(random.integer(1, 3)));
    const std::vector<int> quota = random_quota(cells, random);
    std::vector<int> held(quota.size(), 0);
    std::vector<Taken> taken;
    for (int step = 0; step < 60; ++step) {
      const int level = static_cast<int>(random.integer(1, cells.levels()));
      const auto index = static_cast<std::size_t>(level - 1);
      if (held[index] < quota[index] && random.chance(0.6)) {
        const auto cell = cells.alloc(level);
        ASSERT_TRUE(cell.has_value()) << "seed " << seed << " step " << step;
        ASSERT_EQ(cell->first % cells.size(level), 0);
        taken.push_back({.level = level, .cell = *cell});
        ++held[index];
      } else if (!taken.empty()) {
        const auto which = static_cast<std::ptrdiff_t>(random.next() % taken.size());
        const Taken gone = taken[static_cast<std::size_t>(which)];
        taken.erase(taken.begin() + which);
        cells.release(gone.level, gone.cell);
        --held[static_cast<std::size_t>(gone.level - 1)];
      }
      for (int each = 1; each <= cells.levels(); ++each) {
        const auto& free = cells.free(each);
        ASSERT_EQ(std::vector<int>(free.begin(), free.end()), free_by_hand(cells, taken, each))
            << "seed " << seed << " step " << step << " level " << each;
      }
    }
  }
}

TEST(HivedCells, MoreThanTheEmptyClusterHoldsIsFoundOut) {
  const HivedCells cells({2, 2}, 2);

  EXPECT_TRUE(cells.can_hold(std::vector<int>{0, 2, 1}));
  EXPECT_TRUE(cells.can_hold(std::vector<int>{2, 1, 1}));
  EXPECT_FALSE(cells.can_hold(std::vector<int>{1, 2, 1}));
  EXPECT_FALSE(cells.can_hold(std::vector<int>{0, 0, 3}));
}

}  // namespace
}  // namespace rubato
