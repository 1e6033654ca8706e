#include "rubato/place/buddy/buddy_placer.h"

#include <string_view>

#include <gtest/gtest.h>

#include "rubato/place/buddy/consolidation.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

Topology racks_of(int racks, int nodes_per_rack, int gpus_per_node, int gpus_per_switch = 0) {
  const NodeGroup group{.nodes = racks * nodes_per_rack,
                        .gpus_per_node = gpus_per_node,
                        .nodes_per_rack = nodes_per_rack,
                        .gpus_per_switch = gpus_per_switch};
  return Topology(std::span(&group, 1));
}

PlaceRequest ask(std::uint64_t job, int workers) {
  return {.job = JobId{job}, .pool = kPool, .workers = workers};
}

GpuRanges place(BuddyPlacer& placer, std::uint64_t job, int workers) {
  const auto placement = placer.place(ask(job, workers));
  return placement ? placement->ranges : GpuRanges{};
}

TEST(BuddyPlacer, CutsABlockFromTheSmallestFreeBlockThatHoldsIt) {
  BuddyPlacer placer(racks_of(1, 2, 8));
  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
  EXPECT_EQ(place(placer, 2, 1), (GpuRanges{{4, 1}}));

  EXPECT_EQ(place(placer, 3, 2), (GpuRanges{{6, 2}}));
  EXPECT_EQ(place(placer, 4, 1), (GpuRanges{{5, 1}}));
  EXPECT_EQ(place(placer, 5, 8), (GpuRanges{{8, 8}}));
}

TEST(BuddyPlacer, PrefersANodeOfABrokenRackToAWholeRack) {
  BuddyPlacer placer(racks_of(2, 2, 4));
  ASSERT_EQ(place(placer, 1, 8), (GpuRanges{{0, 8}}));
  ASSERT_EQ(place(placer, 2, 4), (GpuRanges{{8, 4}}));
  placer.release(JobId{1});

  EXPECT_EQ(place(placer, 3, 4), (GpuRanges{{12, 4}}));
}

TEST(BuddyPlacer, KeepsAJobUnderOneSwitch) {
  BuddyPlacer placer(racks_of(1, 1, 6, 3));
  ASSERT_EQ(place(placer, 1, 1), (GpuRanges{{2, 1}}));

  EXPECT_EQ(place(placer, 2, 3), (GpuRanges{{3, 3}}));
  EXPECT_EQ(place(placer, 3, 2), (GpuRanges{{0, 2}}));
}

TEST(BuddyPlacer, PutsOddCountsIntoOneNode) {
  BuddyPlacer placer(racks_of(1, 2, 8));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{0, 2}}));

  EXPECT_EQ(place(placer, 2, 5), (GpuRanges{{2, 1}, {4, 4}}));
  EXPECT_EQ(place(placer, 3, 7), (GpuRanges{{8, 7}}));
}

TEST(BuddyPlacer, GivesALargeJobWholeNodesOfTheRackThatFitsBest) {
  BuddyPlacer placer(racks_of(3, 4, 8));
  ASSERT_EQ(place(placer, 1, 16), (GpuRanges{{0, 16}}));

  EXPECT_EQ(place(placer, 2, 24), (GpuRanges{{32, 24}}));
  EXPECT_EQ(place(placer, 3, 16), (GpuRanges{{16, 16}}));
  EXPECT_EQ(place(placer, 4, 40), (GpuRanges{{56, 40}}));
}

TEST(BuddyPlacer, ScattersOverTheFewestNodesRatherThanFail) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  for (std::uint64_t job = 0; job < 8; ++job) {
    ASSERT_EQ(place(placer, job, 2), (GpuRanges{{static_cast<int>(2 * job), 2}}));
  }
  placer.release(JobId{0});
  placer.release(JobId{2});
  placer.release(JobId{4});

  EXPECT_EQ(place(placer, 8, 3), (GpuRanges{{0, 2}, {4, 1}}));
  EXPECT_EQ(place(placer, 9, 4), GpuRanges{});
  EXPECT_EQ(place(placer, 9, 3), (GpuRanges{{5, 1}, {8, 2}}));
}

TEST(BuddyPlacer, AnswersTheSameCountWithTheSamePlacement) {
  BuddyPlacer placer(racks_of(1, 2, 8));
  ASSERT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
  ASSERT_EQ(place(placer, 2, 4), (GpuRanges{{4, 4}}));
  placer.release(JobId{1});

  EXPECT_EQ(place(placer, 2, 4), (GpuRanges{{4, 4}}));
}

TEST(BuddyPlacer, GrowsIntoTheBuddy) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{0, 2}}));

  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
  EXPECT_EQ(place(placer, 1, 8), (GpuRanges{{0, 8}}));
  EXPECT_EQ(place(placer, 1, 16), (GpuRanges{{0, 16}}));
}

TEST(BuddyPlacer, KeepsItsGpusWhereTheNodeHasRoomElsewhere) {
  BuddyPlacer placer(racks_of(1, 2, 8));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{0, 2}}));
  ASSERT_EQ(place(placer, 2, 2), (GpuRanges{{2, 2}}));

  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{0, 2}, {4, 2}}));
}

TEST(BuddyPlacer, KeepsItsNodeWhereTheRackHasAnotherOne) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  ASSERT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
  ASSERT_EQ(place(placer, 2, 4), (GpuRanges{{4, 4}}));

  EXPECT_EQ(place(placer, 1, 8), (GpuRanges{{0, 4}, {8, 4}}));
}

TEST(BuddyPlacer, MovesToGrowWhenItWouldOtherwiseBeSplit) {
  BuddyPlacer placer(racks_of(1, 2, 4));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{0, 2}}));
  ASSERT_EQ(place(placer, 2, 2), (GpuRanges{{2, 2}}));

  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{4, 4}}));
  EXPECT_EQ(placer.free_gpus(kPool), 2);
}

TEST(BuddyPlacer, ShrinksToAnAlignedPartAndFreesWholeNodes) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  ASSERT_EQ(place(placer, 1, 16), (GpuRanges{{0, 16}}));

  EXPECT_EQ(place(placer, 1, 8), (GpuRanges{{0, 8}}));
  EXPECT_EQ(place(placer, 1, 6), (GpuRanges{{0, 6}}));
  EXPECT_EQ(place(placer, 1, 2), (GpuRanges{{4, 2}}));
  EXPECT_EQ(place(placer, 1, 1), (GpuRanges{{4, 1}}));
}

TEST(BuddyPlacer, KeepsAPartOfAShrinkingJob) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  for (std::uint64_t job = 0; job < 8; ++job) {
    ASSERT_EQ(place(placer, job, 2), (GpuRanges{{static_cast<int>(2 * job), 2}}));
  }
  placer.release(JobId{0});
  placer.release(JobId{2});
  ASSERT_EQ(place(placer, 8, 4), (GpuRanges{{0, 2}, {4, 2}}));
  placer.release(JobId{4});
  placer.release(JobId{5});

  EXPECT_EQ(place(placer, 8, 3), (GpuRanges{{0, 2}, {4, 1}}));
  const auto close =
      placer.place({.job = JobId{8}, .pool = kPool, .workers = 2, .needs_closeness = true});
  EXPECT_EQ(close->ranges, (GpuRanges{{0, 2}}));
}

TEST(BuddyPlacer, MovesAShrinkingJobThatNeedsClosenessToANarrowerSpan) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  for (std::uint64_t job = 0; job < 8; ++job) {
    ASSERT_EQ(place(placer, job, 2), (GpuRanges{{static_cast<int>(2 * job), 2}}));
  }
  placer.release(JobId{0});
  placer.release(JobId{2});
  ASSERT_EQ(place(placer, 8, 4), (GpuRanges{{0, 2}, {4, 2}}));
  placer.release(JobId{4});
  placer.release(JobId{5});

  const auto close =
      placer.place({.job = JobId{8}, .pool = kPool, .workers = 3, .needs_closeness = true});

  EXPECT_EQ(close->ranges, (GpuRanges{{8, 3}}));
  EXPECT_EQ(placer.free_gpus(kPool), 5);
}

TEST(BuddyPlacer, NeverUsesANodeThatIsDown) {
  const Topology topology = racks_of(1, 2, 4);
  BuddyPlacer placer(topology);
  placer.set_node(NodeId{0}, false);

  EXPECT_EQ(placer.free_gpus(kPool), 4);
  EXPECT_EQ(place(placer, 1, 5), GpuRanges{});
  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{4, 4}}));
  placer.set_node(NodeId{0}, true);
  placer.set_node(NodeId{0}, true);
  EXPECT_EQ(place(placer, 2, 4), (GpuRanges{{0, 4}}));
}

TEST(BuddyPlacer, MovesAJobToAnotherPool) {
  BuddyPlacer placer(*Topology::parse("1x4:A+1x4:B"));
  ASSERT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));

  const auto moved = placer.place({.job = JobId{1}, .pool = PoolId{1}, .workers = 2});

  EXPECT_EQ(moved->pool, PoolId{1});
  EXPECT_EQ(placer.free_gpus(PoolId{0}), 4);
  EXPECT_EQ(placer.free_gpus(PoolId{1}), 2);
}

TEST(BuddyPlacer, UsesSmallNodesForWhatFitsThem) {
  BuddyPlacer placer(*Topology::parse("1x8+2x4"));

  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{8, 4}}));
  EXPECT_EQ(place(placer, 2, 8), (GpuRanges{{0, 8}}));
  EXPECT_EQ(place(placer, 3, 4), (GpuRanges{{12, 4}}));
}

TEST(MakeRoom, MovesTheFewestGpusOutOfTheWay) {
  BuddyPlacer placer(racks_of(1, 2, 8));
  ASSERT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
  ASSERT_EQ(place(placer, 2, 4), (GpuRanges{{4, 4}}));
  ASSERT_EQ(place(placer, 3, 2), (GpuRanges{{8, 2}}));
  placer.release(JobId{1});

  const std::vector<JobId> movable{JobId{2}, JobId{3}};
  const std::vector<Move> moves = placer.make_room(ask(4, 8), movable);

  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].job, JobId{3});
  EXPECT_EQ(moves[0].from.ranges, (GpuRanges{{8, 2}}));
  EXPECT_EQ(moves[0].to.ranges, (GpuRanges{{0, 2}}));
  EXPECT_EQ(place(placer, 4, 8), (GpuRanges{{8, 8}}));
}

TEST(MakeRoom, LeavesJobsAloneThatMayNotMove) {
  BuddyPlacer placer(racks_of(1, 2, 8));
  ASSERT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
  ASSERT_EQ(place(placer, 2, 4), (GpuRanges{{4, 4}}));
  ASSERT_EQ(place(placer, 3, 2), (GpuRanges{{8, 2}}));
  placer.release(JobId{1});

  const std::vector<JobId> movable{JobId{2}};
  const std::vector<Move> moves = placer.make_room(ask(4, 8), movable);

  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].job, JobId{2});
  EXPECT_EQ(place(placer, 4, 8), (GpuRanges{{0, 8}}));
}

TEST(MakeRoom, DoesNothingIfTheRequestFitsOrCannotFit) {
  BuddyPlacer placer(racks_of(1, 2, 4));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{0, 2}}));
  const std::vector<JobId> movable{JobId{1}};

  EXPECT_TRUE(placer.make_room(ask(2, 4), movable).empty());
  EXPECT_TRUE(placer.make_room(ask(2, 7), movable).empty());
  EXPECT_TRUE(placer.make_room(ask(1, 2), movable).empty());
}

TEST(MakeRoom, ClearsWholeNodesOfOneRackForALargeJob) {
  BuddyPlacer placer(racks_of(2, 2, 4));
  for (std::uint64_t job = 0; job < 4; ++job) {
    ASSERT_FALSE(place(placer, job, 4).empty());
  }
  placer.release(JobId{1});
  placer.release(JobId{3});

  const std::vector<JobId> movable{JobId{0}, JobId{2}};
  const std::vector<Move> moves = placer.make_room(ask(5, 8), movable);

  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].to.ranges, (GpuRanges{{12, 4}}));
  EXPECT_EQ(place(placer, 5, 8), (GpuRanges{{0, 8}}));
}

TEST(MakeRoom, LetsAGrowingJobStayWhereItIs) {
  BuddyPlacer placer(racks_of(1, 2, 4));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{0, 2}}));
  ASSERT_EQ(place(placer, 2, 2), (GpuRanges{{2, 2}}));
  ASSERT_EQ(place(placer, 3, 1), (GpuRanges{{4, 1}}));

  const std::vector<JobId> movable{JobId{2}, JobId{3}};
  const std::vector<Move> moves = placer.make_room(ask(1, 4), movable);

  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].job, JobId{2});
  EXPECT_EQ(place(placer, 1, 4), (GpuRanges{{0, 4}}));
}

// What the growing job leaves behind cannot be used by others, so its own node must be cleared
// although other nodes would be cheaper (seed 15330 of the property test).
TEST(MakeRoom, ClearsTheNodeOfAGrowingJobBeforeCheaperOnes) {
  BuddyPlacer placer(racks_of(2, 4, 4));
  for (std::uint64_t job = 0; job < 8; ++job) {
    ASSERT_EQ(place(placer, job, 4), (GpuRanges{{static_cast<int>(4 * job), 4}}));
  }
  ASSERT_EQ(place(placer, 0, 1), (GpuRanges{{0, 1}}));
  ASSERT_EQ(place(placer, 11, 2), (GpuRanges{{2, 2}}));
  ASSERT_EQ(place(placer, 12, 1), (GpuRanges{{1, 1}}));
  ASSERT_EQ(place(placer, 1, 2), (GpuRanges{{4, 2}}));
  ASSERT_EQ(place(placer, 2, 2), (GpuRanges{{8, 2}}));
  ASSERT_EQ(place(placer, 4, 1), (GpuRanges{{16, 1}}));

  const std::vector<JobId> movable{JobId{1}, JobId{2}, JobId{4}, JobId{11}, JobId{12}};
  const std::vector<Move> moves = placer.make_room(ask(0, 8), movable);

  EXPECT_EQ(moves.size(), 3U);
  EXPECT_EQ(place(placer, 0, 8), (GpuRanges{{0, 8}}));
}

TEST(MakeRoom, ComparesWithAnEmptyPoolOfTheNodesThatAreUp) {
  BuddyPlacer placer(racks_of(2, 2, 4));
  placer.set_node(NodeId{1}, false);
  placer.set_node(NodeId{2}, false);
  ASSERT_EQ(place(placer, 1, 8), (GpuRanges{{0, 4}, {12, 4}}));

  EXPECT_FALSE(placer.is_scattered(JobId{1}));
  placer.set_node(NodeId{1}, true);
  EXPECT_TRUE(placer.is_scattered(JobId{1}));
}

TEST(Consolidation, BringsAScatteredJobTogetherOnceThereIsSpace) {
  BuddyPlacer placer(racks_of(1, 4, 4));
  for (std::uint64_t job = 0; job < 8; ++job) {
    ASSERT_EQ(place(placer, job, 2), (GpuRanges{{static_cast<int>(2 * job), 2}}));
  }
  placer.release(JobId{0});
  placer.release(JobId{2});
  ASSERT_EQ(place(placer, 8, 4), (GpuRanges{{0, 2}, {4, 2}}));
  const std::vector<JobId> movable{JobId{1}, JobId{8}};
  EXPECT_TRUE(consolidate(placer, movable, 10).empty());
  placer.release(JobId{4});
  placer.release(JobId{5});

  EXPECT_TRUE(consolidate(placer, movable, 0).empty());
  const std::vector<Move> moves = consolidate(placer, movable, 10);

  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from.ranges, (GpuRanges{{0, 2}, {4, 2}}));
  EXPECT_EQ(moves[0].to.ranges, (GpuRanges{{8, 4}}));
  EXPECT_FALSE(placer.is_scattered(JobId{8}));
}

}  // namespace
}  // namespace rubato
