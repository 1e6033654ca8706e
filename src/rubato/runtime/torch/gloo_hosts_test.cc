#include "rubato/runtime/group/gloo_communicator.h"
#include "rubato/runtime/group/host_crew_test.h"
#include "rubato/runtime/group/memory_rendezvous.h"

namespace rubato {
namespace {

/// Ranks on pretended hosts that speak TCP with each other.
class GlooHosts {
 public:
  GlooHosts(const std::vector<int>& hosts, const ArenaLayout& layout) : crew_(hosts, layout) {}

  [[nodiscard]] HostCrew& crew() { return crew_; }

  [[nodiscard]] std::unique_ptr<Communicator> join(int rank) {
    HostGroups groups = crew_.groups(rank);
    groups.join_across = [this, rank](const GroupPart& part) {
      return join_gloo_group({.rank = part.rank,
                              .size = static_cast<int>(part.members.size()),
                              .name = "across",
                              .patience = from_seconds(120),
                              .arena = crew_.shared_arena(rank),
                              .note_length = part.note_length},
                             rendezvous_);
    };
    return *join_host_groups(groups);
  }

 private:
  HostCrew crew_;
  MemoryRendezvous rendezvous_{};
};

TEST(GlooHosts, SumOnTheHostAndThenAcross) {
  const ShardScene scene = ShardScene::random(4, 3000, 1);
  GlooHosts hosts({0, 0, 1, 1}, {.parameter_bytes = 500, .floats = 3000});
  const std::vector<ShardPlace> places = scene.dealt_to(4);
  as_threads(4, [&](int rank) {
    const auto self = hosts.join(rank);
    Arena& arena = hosts.crew().arena(rank);
    ReduceReport report;
    for (int step = 0; step < 20; ++step) {
      scene.fill(places, rank, arena);
      const double note = 4 * step + rank;
      ASSERT_TRUE(self->reduce({.places = places,
                                .weights = scene.weights,
                                .floats = 3000,
                                .wants_squares = true,
                                .note = {&note, 1}},
                               report)
                      .ok());
      ASSERT_TRUE(scene.is_sum(arena.slot(0)));
      ASSERT_TRUE(scene.has_squares(report, arena.slot(0)));
      for (int other = 0; other < 4; ++other) {
        ASSERT_EQ(report.notes[static_cast<std::size_t>(other) * kNoteLength], 4 * step + other);
      }
    }
    if (rank == 3) {
      std::ranges::fill(arena.parameters(), std::byte{3});
    }
    ASSERT_TRUE(self->broadcast(arena.parameters(), 3).ok());
    ASSERT_EQ(arena.parameters()[499], std::byte{3});
  });
}

TEST(GlooHosts, FailEverywhereWhenAFirstRankBreaksOff) {
  GlooHosts hosts({0, 0, 1, 1}, {.floats = 10});
  std::vector<std::unique_ptr<Communicator>> ranks(4);
  as_threads(4, [&](int rank) { ranks[static_cast<std::size_t>(rank)] = hosts.join(rank); });
  std::atomic<int> entered = 0;
  std::vector<std::jthread> waiting;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    waiting.emplace_back([&ranks, &entered, rank] {
      ReduceReport report;
      ++entered;
      EXPECT_FALSE(ranks[rank]->reduce({}, report).ok());
    });
  }
  while (entered < 3) {
    std::this_thread::yield();
  }

  ranks[2]->abort();

  waiting.clear();
}

}  // namespace
}  // namespace rubato
