// Random histories of the placer against a plain list of who owns which GPU.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/place/buddy/buddy_placer.h"
#include "rubato/place/buddy/consolidation.h"
#include "rubato/place/pool/gpu_ranges.h"
#include "rubato/place/small_cluster_test.h"

namespace rubato {
namespace {

constexpr std::uint64_t kNobody = 0;

/// The placer and, beside it, the naive truth.
class World {
 public:
  World(std::span<const NodeGroup> groups, std::uint64_t seed)
      : topology_(groups),
        placer_(topology_),
        random_(seed),
        owner_(static_cast<std::size_t>(topology_.gpus()), kNobody) {}

  [[nodiscard]] BuddyPlacer& placer() { return placer_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] int gpus() const { return topology_.gpus(); }

  [[nodiscard]] std::vector<JobId> jobs() const {
    std::vector<JobId> ids;
    for (const auto& [job, workers] : workers_) {
      ids.push_back(JobId{job});
    }
    return ids;
  }
  [[nodiscard]] int workers(JobId job) const { return workers_.at(job.value); }
  [[nodiscard]] int free_gpus() const {
    int free = 0;
    for (std::size_t gpu = 0; gpu < owner_.size(); ++gpu) {
      free += owner_[gpu] == kNobody && is_up(static_cast<int>(gpu)) ? 1 : 0;
    }
    return free;
  }
  [[nodiscard]] int free_in(const Node& node) const {
    const auto first = owner_.begin() + node.first_gpu;
    return up_[node.id.value] ? static_cast<int>(std::count(first, first + node.gpus, kNobody)) : 0;
  }
  [[nodiscard]] Locality span(JobId job) const { return topology_.span_of(*placer_.find(job)); }

  void place(JobId job, int workers) {
    const int has = workers_.contains(job.value) ? workers_.at(job.value) : 0;
    const int free_before = free_gpus();
    const auto before = has > 0 ? std::optional(*placer_.find(job)) : std::nullopt;
    const auto placement = placer_.place({.job = job, .pool = kPool, .workers = workers});
    ASSERT_EQ(placement.has_value(), workers <= free_before + has);
    if (!placement) {
      ASSERT_EQ(placer_.find(job) != nullptr, has > 0);
      return;
    }
    ASSERT_EQ(*placer_.find(job), *placement);
    if (workers == has) {
      ASSERT_EQ(*placement, *before);
    }
    if (workers < has) {
      ASSERT_TRUE(without(placement->ranges, before->ranges).empty()) << "a shrink moved";
    }
    write(before ? *before : Placement{}, kNobody);
    write(*placement, job.value);
    workers_[job.value] = workers;
    check();
  }
  void release(JobId job) {
    write(*placer_.find(job), kNobody);
    workers_.erase(job.value);
    placer_.release(job);
    check();
  }
  void carry_out(const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      ASSERT_EQ(move.from.gpus(), move.to.gpus());
      write(move.from, kNobody);
      write(move.to, move.job.value);
      ASSERT_FALSE(testing::Test::HasFailure()) << "moves are not in executable order";
    }
    check();
  }
  void flip_node(NodeId node) {
    const Node& here = topology_.node(node);
    if (up_[node.value]) {
      for (int gpu = here.first_gpu; gpu < here.first_gpu + here.gpus; ++gpu) {
        if (const std::uint64_t job = owner_[static_cast<std::size_t>(gpu)]; job != kNobody) {
          release(JobId{job});
        }
      }
    }
    up_[node.value] = !up_[node.value];
    placer_.set_node(node, up_[node.value]);
    check();
  }

 private:
  [[nodiscard]] bool is_up(int gpu) const { return up_[topology_.node_of(kPool, gpu).id.value]; }

  void write(const Placement& placement, std::uint64_t job) {
    for (const GpuRange& range : placement.ranges) {
      for (int gpu = range.first; gpu < end_of(range); ++gpu) {
        std::uint64_t& owner = owner_.at(static_cast<std::size_t>(gpu));
        ASSERT_TRUE(job == kNobody || owner == kNobody) << "GPU " << gpu << " handed out twice";
        ASSERT_TRUE(job == kNobody || is_up(gpu)) << "GPU " << gpu << " is down";
        owner = job;
      }
    }
  }
  void check() {
    ASSERT_EQ(placer_.free_gpus(kPool), free_gpus());
    for (const auto& [job, workers] : workers_) {
      const Placement* placement = placer_.find(JobId{job});
      ASSERT_NE(placement, nullptr);
      ASSERT_EQ(placement->gpus(), workers);
      int last = -1;
      for (const GpuRange& range : placement->ranges) {
        ASSERT_GT(range.first, last);
        last = end_of(range);
        for (int gpu = range.first; gpu < last; ++gpu) {
          ASSERT_EQ(owner_[static_cast<std::size_t>(gpu)], job);
        }
      }
    }
  }

  Topology topology_;
  BuddyPlacer placer_;
  Random random_;
  std::vector<std::uint64_t> owner_;
  std::map<std::uint64_t, int> workers_;
  std::vector<bool> up_ = std::vector<bool>(topology_.nodes().size(), true);
};

JobId pick_job(World& world) {
  const std::vector<JobId> jobs = world.jobs();
  const auto last = static_cast<std::int64_t>(jobs.size()) - 1;
  return jobs[static_cast<std::size_t>(world.random().integer(0, last))];
}

int power_of_two(World& world, int max) {
  int exponents = 0;
  while ((2 << exponents) <= max) {
    ++exponents;
  }
  return 1 << world.random().integer(0, exponents);
}

// Asks for room with everyone movable, then places; the span must be the empty pool's.
void place_defragmented(World& world, JobId job, int workers, bool is_promised) {
  const std::vector<JobId> movable = world.jobs();
  const PlaceRequest request{.job = job, .pool = kPool, .workers = workers};
  const std::vector<Move> moves = world.placer().make_room(request, movable);
  world.carry_out(moves);
  world.place(job, workers);
  if (is_promised && !testing::Test::HasFailure()) {
    ASSERT_EQ(world.span(job), world.topology().narrowest_span(kPool, workers))
        << workers << " workers, " << moves.size() << " moves";
  }
}

// A step of a history of powers of two in a nearly full pool, mostly small ones, so that free GPUs
// lie far apart. Those that do not ask for room leave scattered jobs behind.
void regular_step(World& world, std::uint64_t number) {
  const int workers = power_of_two(world, world.random().chance(0.7) ? 4 : world.gpus());
  const bool has_jobs = !world.jobs().empty();
  const bool is_full = world.free_gpus() < world.gpus() / 4;
  if (has_jobs && world.random().chance(is_full ? 0.5 : 0.1)) {
    world.release(pick_job(world));
  } else if (has_jobs && world.random().chance(0.3)) {
    const JobId job = pick_job(world);
    const int has = world.workers(job);
    const bool is_settled = world.span(job) == world.topology().narrowest_span(kPool, has);
    if (has < workers && workers <= world.free_gpus() + has && world.random().chance(0.5)) {
      place_defragmented(world, job, workers, is_settled);
    } else {
      world.place(job, workers);
    }
  } else if (workers <= world.free_gpus() && world.random().chance(0.5)) {
    place_defragmented(world, JobId{number}, workers, /*is_promised=*/true);
  } else {
    world.place(JobId{number}, workers);
  }
}

TEST(BuddyPlacerProperty, PowersOfTwoNeverFragment) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random shape(seed);
    const int per_node = 1 << shape.integer(0, 3);
    const int per_rack = 1 << shape.integer(0, 3);
    const NodeGroup group{.nodes = per_rack << shape.integer(0, 2),
                          .gpus_per_node = per_node,
                          .nodes_per_rack = per_rack,
                          .gpus_per_switch = std::max(1, per_node / 2)};
    World world(std::span(&group, 1), seed);
    for (std::uint64_t step = 1; step <= 120; ++step) {
      regular_step(world, step);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << step;
    }
  }
}

// Any counts, any machines, nodes that fail: no promise but that nothing is lost or given twice.
void wild_step(World& world, std::uint64_t number) {
  const int workers = static_cast<int>(world.random().integer(1, std::max(1, world.gpus() / 2)));
  const bool has_jobs = !world.jobs().empty();
  if (world.random().chance(0.05)) {
    const auto last = static_cast<std::int64_t>(world.topology().nodes().size()) - 1;
    world.flip_node(NodeId{static_cast<std::uint64_t>(world.random().integer(0, last))});
  } else if (has_jobs && world.random().chance(0.3)) {
    world.release(pick_job(world));
  } else if (has_jobs && world.random().chance(0.1)) {
    world.carry_out(consolidate(world.placer(), world.jobs(), 2));
  } else {
    const bool is_new = !has_jobs || world.random().chance(0.5);
    const JobId job = is_new ? JobId{number} : pick_job(world);
    std::vector<JobId> movable = world.jobs();
    std::erase_if(movable, [&](JobId) { return world.random().chance(0.3); });
    const PlaceRequest request{.job = job, .pool = kPool, .workers = workers};
    world.carry_out(world.placer().make_room(request, movable));
    world.place(job, workers);
  }
}

std::vector<NodeGroup> odd_machines(Random& random) {
  std::vector<NodeGroup> groups;
  for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
    groups.push_back({.nodes = static_cast<int>(random.integer(1, 7)),
                      .gpus_per_node = static_cast<int>(random.integer(1, 12)),
                      .nodes_per_rack = static_cast<int>(random.integer(0, 4)),
                      .gpus_per_switch = static_cast<int>(random.integer(0, 5))});
  }
  return groups;
}

TEST(BuddyPlacerProperty, OddMachinesAndFailuresLoseAndDoubleNothing) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random shape(seed);
    const std::vector<NodeGroup> groups = odd_machines(shape);
    World world(groups, seed);
    for (std::uint64_t step = 1; step <= 60; ++step) {
      wild_step(world, step);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << step;
    }
  }
}

TEST(BuddyPlacerProperty, TheSameHistoryGivesTheSamePlacements) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random shape(seed);
    const std::vector<NodeGroup> groups = odd_machines(shape);
    World first(groups, seed);
    World second(groups, seed);
    for (std::uint64_t step = 1; step <= 40; ++step) {
      wild_step(first, step);
      wild_step(second, step);
    }

    ASSERT_EQ(first.jobs(), second.jobs()) << "seed " << seed;
    for (const JobId job : first.jobs()) {
      ASSERT_EQ(*first.placer().find(job), *second.placer().find(job)) << "seed " << seed;
    }
  }
}

TEST(BuddyPlacerProperty, ReleasingAllLeavesThePoolAsNew) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random shape(seed);
    const std::vector<NodeGroup> groups = odd_machines(shape);
    World world(groups, seed);
    BuddyPlacer fresh(world.topology());
    for (std::uint64_t step = 1; step <= 40; ++step) {
      wild_step(world, step);
    }
    for (const JobId job : world.jobs()) {
      world.release(job);
    }
    for (const Node& node : world.topology().nodes()) {
      world.placer().set_node(node.id, true);
    }

    for (std::uint64_t job = 1000; fresh.free_gpus(kPool) > 0; ++job) {
      const auto workers = static_cast<int>(shape.integer(1, fresh.free_gpus(kPool)));
      const PlaceRequest request{.job = JobId{job}, .pool = kPool, .workers = workers};
      ASSERT_EQ(world.placer().place(request), fresh.place(request)) << "seed " << seed;
    }
  }
}

TEST(BuddyPlacerProperty, ANewJobIsAsCloseAsTheFreeGpusPermit) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random shape(seed);
    const std::vector<NodeGroup> groups = odd_machines(shape);
    World world(groups, seed);
    for (std::uint64_t step = 1; step <= 40; ++step) {
      wild_step(world, step);
      const int free = world.free_gpus();
      if (free == 0) {
        continue;
      }
      std::vector<int> node_free(world.topology().nodes().size());
      std::map<int, int> rack_free;
      for (const Node& node : world.topology().nodes()) {
        node_free[node.id.value] = world.free_in(node);
        rack_free[node.rack] += node_free[node.id.value];
      }
      const auto workers = static_cast<int>(world.random().integer(1, free));
      const auto rack =
          std::ranges::max_element(rack_free, {}, [](const auto& each) { return each.second; });
      const Locality best = std::ranges::max(node_free) >= workers ? Locality::Node
                            : rack->second >= workers              ? Locality::Rack
                                                                   : Locality::Across;

      world.place(JobId{1000}, workers);

      ASSERT_EQ(world.span(JobId{1000}), best) << "seed " << seed << " step " << step;
      world.release(JobId{1000});
    }
  }
}

}  // namespace
}  // namespace rubato
