#include "rubato/place/hived/hived_placer.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HivedPlacer placer_for(std::string_view machines, std::string_view clusters) {
  const Topology topology = cluster(machines);
  return HivedPlacer(topology, parse_clusters(clusters, topology).value());
}

PlaceRequest guaranteed(std::uint64_t job, std::string_view tenant, int workers) {
  return {.job = JobId{job}, .workers = workers, .tenant = tenant, .is_guaranteed = true};
}

PlaceRequest low(std::uint64_t job, int workers) { return {.job = JobId{job}, .workers = workers}; }

std::vector<GpuRange> ranges(const std::optional<Placement>& placement) {
  return placement ? placement->ranges : std::vector<GpuRange>{};
}

TEST(HivedPlacer, RefusesWhatExceedsTheTenantsCells) {
  HivedPlacer placer = placer_for("2x4", "a:1x4/b:1x4");

  EXPECT_THAT(ranges(placer.place(guaranteed(1, "a", 3))), ElementsAre(GpuRange{0, 3}));
  EXPECT_EQ(placer.place(guaranteed(2, "a", 2)), std::nullopt);
  EXPECT_THAT(ranges(placer.place(guaranteed(2, "a", 1))), ElementsAre(GpuRange{3, 1}));
  EXPECT_EQ(placer.place(guaranteed(1, "a", 4)), std::nullopt);
  EXPECT_THAT(placer.find(JobId{1})->ranges, ElementsAre(GpuRange{0, 3}));
}

TEST(HivedPlacer, KeepsTenantsApart) {
  HivedPlacer placer = placer_for("2x4", "a:1x4/b:1x4");

  EXPECT_THAT(ranges(placer.place(guaranteed(1, "a", 1))), ElementsAre(GpuRange{0, 1}));
  EXPECT_THAT(ranges(placer.place(guaranteed(2, "b", 1))), ElementsAre(GpuRange{4, 1}));
  EXPECT_THAT(ranges(placer.place(guaranteed(3, "a", 3))), ElementsAre(GpuRange{1, 3}));
}

TEST(HivedPlacer, LetsLowPriorityUseWhatIsIdleFarFromBoundCells) {
  HivedPlacer placer = placer_for("2x4", "a:1x4");
  ASSERT_TRUE(placer.place(guaranteed(1, "a", 2)).has_value());

  EXPECT_THAT(ranges(placer.place(low(2, 4))), ElementsAre(GpuRange{4, 4}));
  EXPECT_THAT(ranges(placer.place(low(3, 2))), ElementsAre(GpuRange{2, 2}));
  EXPECT_EQ(placer.place(low(4, 1)), std::nullopt);
}

TEST(HivedPlacer, SendsLowPriorityAwayWhenTheOwnerNeedsItsCells) {
  HivedPlacer placer = placer_for("2x4", "a:1x4/b:1x4");
  ASSERT_TRUE(placer.place(low(1, 4)).has_value());
  ASSERT_TRUE(placer.place(low(2, 2)).has_value());
  EXPECT_EQ(placer.place(guaranteed(3, "a", 4)), std::nullopt);

  // The node with fewer borrowed GPUs is taken.
  EXPECT_THAT(placer.preempt(guaranteed(3, "a", 4)), ElementsAre(JobId{2}));
  EXPECT_THAT(ranges(placer.place(guaranteed(3, "a", 4))), ElementsAre(GpuRange{4, 4}));

  EXPECT_THAT(placer.preempt(guaranteed(4, "b", 1)), ElementsAre(JobId{1}));
  EXPECT_THAT(ranges(placer.place(guaranteed(4, "b", 1))), ElementsAre(GpuRange{0, 1}));
}

TEST(HivedPlacer, SendsNobodyAwayForWhatItRefuses) {
  HivedPlacer placer = placer_for("2x4", "a:1x4");
  ASSERT_TRUE(placer.place(low(1, 4)).has_value());
  ASSERT_TRUE(placer.place(low(2, 4)).has_value());

  EXPECT_THAT(placer.preempt(guaranteed(3, "a", 5)), IsEmpty());
  EXPECT_THAT(placer.preempt(guaranteed(3, "nobody", 1)), IsEmpty());
  EXPECT_THAT(placer.preempt(low(3, 1)), IsEmpty());
}

TEST(HivedPlacer, BindsTheSmallestCellThatIsLargeEnough) {
  HivedPlacer placer = placer_for("2x4", "a:1x4+1x2");

  EXPECT_EQ(placer.place(guaranteed(1, "a", 2))->ranges.front().count, 2);
  EXPECT_THAT(ranges(placer.place(guaranteed(2, "a", 4))), ElementsAre(GpuRange{4, 4}));
}

TEST(HivedPlacer, KeepsWhatAJobHasWhenItGrowsAndShrinks) {
  HivedPlacer placer = placer_for("2x4", "a:2x4");
  ASSERT_TRUE(placer.place(guaranteed(1, "a", 2)).has_value());

  EXPECT_THAT(ranges(placer.place(guaranteed(1, "a", 6))),
              ElementsAre(GpuRange{0, 2}, GpuRange{4, 4}));
  EXPECT_THAT(ranges(placer.place(guaranteed(1, "a", 3))), ElementsAre(GpuRange{4, 3}));
  placer.release(JobId{1});
  EXPECT_EQ(placer.free_gpus(PoolId{0}), 8);
}

TEST(HivedPlacer, TakesHealthyCells) {
  HivedPlacer placer = placer_for("2x4", "a:1x4");
  placer.set_node(NodeId{0}, false);

  EXPECT_THAT(ranges(placer.place(guaranteed(1, "a", 4))), ElementsAre(GpuRange{4, 4}));
  placer.release(JobId{1});
  placer.set_node(NodeId{1}, false);
  EXPECT_EQ(placer.place(guaranteed(1, "a", 1)), std::nullopt);
  EXPECT_EQ(placer.free_gpus(PoolId{0}), 0);
}

TEST(HivedPlacer, OfOneNamelessClusterServesEverybody) {
  const Topology topology = cluster("1x4");
  const std::vector<TenantPart> all = {{.name = "", .share = 1}};
  HivedPlacer placer(topology, clusters_by_share(all, topology));

  EXPECT_TRUE(placer.place(guaranteed(1, "anybody", 4)).has_value());
}

/// What the placer should know, kept the plain way.
struct Books {
  std::map<JobId, PlaceRequest> held{};

  [[nodiscard]] int used_by(std::string_view tenant) const {
    int gpus = 0;
    for (const auto& [job, request] : held) {
      gpus += request.is_guaranteed && request.tenant == tenant ? request.workers : 0;
    }
    return gpus;
  }
};

void expect_sound(const HivedPlacer& placer, const Books& books, const std::set<int>& down_gpus,
                  int gpus) {
  std::set<int> used = down_gpus;
  for (const auto& [job, request] : books.held) {
    const Placement* placement = placer.find(job);
    ASSERT_NE(placement, nullptr);
    ASSERT_EQ(placement->gpus(), request.workers);
    for (const GpuRange& range : placement->ranges) {
      for (int gpu = range.first; gpu < range.first + range.count; ++gpu) {
        ASSERT_TRUE(used.insert(gpu).second) << "GPU " << gpu << " twice or down";
      }
    }
  }
  ASSERT_EQ(placer.free_gpus(PoolId{0}), gpus - static_cast<int>(used.size()));
}

// While all nodes are up every guaranteed request within the quota succeeds, whatever the others
// do; nobody is sent away but jobs of low priority, and only for an owner.
TEST(HivedPlacer, KeepsWhatItGuarantees) {
  const std::map<std::string, int, std::less<>> quota = {{"a", 14}, {"b", 8}, {"c", 5}};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    HivedPlacer placer = placer_for("4x8", "a:1x8+1x4+2x1/b:2x4/c:1x4+1x1");
    Books books;
    for (int step = 0; step < 60; ++step) {
      const JobId job{static_cast<std::uint64_t>(random.integer(1, 12))};
      const double kind = job.value % 4 == 0 ? 1 : 0;  // A job keeps its priority.
      PlaceRequest request{.job = job,
                           .workers = static_cast<int>(random.integer(1, 8)),
                           .tenant = job.value % 3 == 0   ? "a"
                                     : job.value % 3 == 1 ? "b"
                                                          : "c",
                           .is_guaranteed = kind < 1};
      if (random.chance(0.3)) {
        placer.release(job);
        books.held.erase(job);
        continue;
      }
      const int others =
          books.used_by(request.tenant) -
          (books.held.contains(job) && request.is_guaranteed ? books.held.at(job).workers : 0);
      const bool legal =
          request.is_guaranteed && others + request.workers <= quota.find(request.tenant)->second;
      for (const JobId gone : placer.preempt(request)) {
        ASSERT_TRUE(legal) << "seed " << seed << " step " << step;
        ASSERT_FALSE(books.held.at(gone).is_guaranteed) << "seed " << seed << " step " << step;
        books.held.erase(gone);
      }
      const bool placed = placer.place(request).has_value();
      if (request.is_guaranteed) {
        ASSERT_EQ(placed, legal) << "seed " << seed << " step " << step;
      }
      if (placed) {
        books.held[job] = request;
      }
      expect_sound(placer, books, {}, 32);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << " step " << step;
    }
  }
}

TEST(HivedPlacer, StaysSoundWhileNodesComeAndGo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    HivedPlacer placer = placer_for("3x4", "a:1x4+1x2/b:1x4");
    Books books;
    std::set<int> down_gpus;
    for (int step = 0; step < 60; ++step) {
      if (random.chance(0.15)) {
        const int node = static_cast<int>(random.integer(0, 2));
        const bool up = down_gpus.contains(node * 4);
        const GpuRange range{.first = node * 4, .count = 4};
        for (auto each = books.held.begin(); !up && each != books.held.end();) {
          const bool hit = overlap(placer.find(each->first)->ranges, range) > 0;
          if (hit) {
            placer.release(each->first);
          }
          each = hit ? books.held.erase(each) : std::next(each);
        }
        placer.set_node(NodeId{static_cast<std::uint64_t>(node)}, up);
        for (int gpu = range.first; gpu < end_of(range); ++gpu) {
          up ? static_cast<void>(down_gpus.erase(gpu)) : static_cast<void>(down_gpus.insert(gpu));
        }
      }
      const auto job = static_cast<std::uint64_t>(random.integer(1, 8));
      const int workers = static_cast<int>(random.integer(1, 5));
      const PlaceRequest request =
          job <= 3 ? low(job, workers) : guaranteed(job, job <= 5 ? "a" : "b", workers);
      for (const JobId gone : placer.preempt(request)) {
        books.held.erase(gone);
      }
      if (placer.place(request)) {
        books.held[request.job] = request;
      }
      expect_sound(placer, books, down_gpus, 12);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace rubato
