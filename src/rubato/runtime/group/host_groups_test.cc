#include "rubato/runtime/group/host_groups.h"

#include <cstring>
#include <rapidcheck.h>

#include "rubato/runtime/group/host_crew_test.h"

namespace rubato {
namespace {

struct HostOutcome {
  std::vector<std::vector<float>> sums{};  // By rank.
  std::vector<ReduceReport> reports{};
};

HostOutcome reduce_on_hosts(const ShardScene& scene, const std::vector<int>& hosts,
                            std::size_t slots, int steps) {
  HostCrew crew(hosts, {.floats = scene.floats(), .slots = slots});
  const std::vector<ShardPlace> places = scene.dealt_to(crew.size());
  HostOutcome outcome;
  outcome.sums.resize(hosts.size());
  outcome.reports.resize(hosts.size());
  as_threads(crew.size(), [&](int rank) {
    const auto self = crew.join(rank);
    EXPECT_EQ(self->rank(), rank);
    EXPECT_EQ(self->size(), crew.size());
    for (int step = 0; step < steps; ++step) {
      scene.fill(places, rank, crew.arena(rank));
      const double note = 100 * step + rank;
      ASSERT_TRUE(self->reduce({.places = places,
                                .weights = scene.weights,
                                .floats = scene.floats(),
                                .wants_squares = true,
                                .note = {&note, 1}},
                               outcome.reports[static_cast<std::size_t>(rank)])
                      .ok());
    }
    const auto sum = crew.arena(rank).slot(0);
    outcome.sums[static_cast<std::size_t>(rank)].assign(sum.begin(), sum.end());
  });
  return outcome;
}

std::vector<int> random_hosts() {
  return *rc::gen::container<std::vector<int>>(*rc::gen::inRange<std::size_t>(1, 8),
                                               rc::gen::inRange(0, 4));
}

TEST(HostGroups, GiveEveryRankTheSumTheSquaresAndTheNotes) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<int> hosts = random_hosts();
    // Some ranks, perhaps all of a host, have no shard.
    const auto shards = *rc::gen::inRange<std::size_t>(1, hosts.size() + 1);
    const auto scene = ShardScene::random(shards, *rc::gen::inRange<std::size_t>(1, 2000),
                                          *rc::gen::arbitrary<unsigned>());
    const int steps = *rc::gen::inRange(1, 4);

    const HostOutcome outcome = reduce_on_hosts(scene, hosts, /*slots=*/1, steps);

    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      RC_ASSERT(scene.is_sum(outcome.sums[rank]));
      RC_ASSERT(outcome.sums[rank] == outcome.sums[0]);
      RC_ASSERT(scene.has_squares(outcome.reports[rank], outcome.sums[rank]));
      RC_ASSERT(outcome.reports[rank].notes.size() == hosts.size() * kNoteLength);
      for (std::size_t other = 0; other < hosts.size(); ++other) {
        RC_ASSERT(outcome.reports[rank].notes[other * kNoteLength] ==
                  100.0 * (steps - 1) + static_cast<double>(other));
      }
    }
  }));
}

TEST(HostGroups, LeaveWhatIsNoGradientOutOfTheSquares) {
  const ShardScene whole = ShardScene::random(4, 300, 3);
  ShardScene measured = whole;
  for (std::vector<float>& shard : measured.shards) {
    std::fill(shard.begin() + 100, shard.end(), 0.0F);
  }
  HostCrew crew({0, 0, 1, 1}, {.floats = 300});
  const std::vector<ShardPlace> places = whole.dealt_to(4);
  as_threads(4, [&](int rank) {
    const auto self = crew.join(rank);
    whole.fill(places, rank, crew.arena(rank));
    ReduceReport report;
    ASSERT_TRUE(self->reduce({.places = places,
                              .weights = whole.weights,
                              .floats = 300,
                              .wants_squares = true,
                              .measured_floats = 100},
                             report)
                    .ok());

    const std::span<const float> sum = crew.arena(rank).slot(0);
    EXPECT_TRUE(whole.is_sum(sum)) << "all of it is summed";
    std::vector<float> sum_measured(sum.begin(), sum.begin() + 100);
    sum_measured.resize(300);
    EXPECT_TRUE(measured.has_squares(report, sum_measured));
  });
}

TEST(HostGroups, SumToTheSameBitsWhereverTheRanksAreInDeterministicMode) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<int> hosts = random_hosts();
    const auto scene = ShardScene::random(*rc::gen::inRange<std::size_t>(2, 12), 500,
                                          *rc::gen::arbitrary<unsigned>());
    const HostOutcome alone = reduce_on_hosts(scene, {0}, scene.shards.size(), 1);

    const HostOutcome spread = reduce_on_hosts(scene, hosts, scene.shards.size(), 1);

    RC_ASSERT(std::memcmp(spread.sums[0].data(), alone.sums[0].data(), 500 * sizeof(float)) == 0);
    RC_ASSERT(spread.reports[0].shard_squares == alone.reports[0].shard_squares);
  }));
}

TEST(HostGroups, ExchangeNotesAlone) {
  HostCrew crew({0, 0, 1, 1, 1}, {});
  as_threads(5, [&crew](int rank) {
    const auto self = crew.join(rank);
    ReduceReport report;
    for (int round = 0; round < 100; ++round) {
      const double note = 5 * round + rank;
      ASSERT_TRUE(self->reduce({.note = {&note, 1}}, report).ok());
      for (int other = 0; other < 5; ++other) {
        ASSERT_EQ(report.notes[static_cast<std::size_t>(other) * kNoteLength], 5 * round + other);
      }
    }
  });
}

TEST(HostGroups, BroadcastFromEveryRank) {
  HostCrew crew({0, 1, 0, 1, 2}, {.parameter_bytes = 1000});
  as_threads(5, [&crew](int rank) {
    const auto self = crew.join(rank);
    for (int source = 0; source < 5; ++source) {
      if (rank == source) {
        std::ranges::fill(crew.arena(rank).parameters(), static_cast<std::byte>(source + 1));
      }
      ASSERT_TRUE(self->broadcast(crew.arena(rank).parameters(), source).ok());
      ASSERT_EQ(crew.arena(rank).parameters()[999], static_cast<std::byte>(source + 1));
    }
  });
}

TEST(HostGroups, FailEverywhereWhenAFirstRankBreaksOff) {
  HostCrew crew({0, 0, 1, 1}, {.floats = 10});
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(crew.join(rank));
  }
  std::atomic<int> entered = 0;
  std::vector<std::jthread> waiting;
  // Rank 3 never comes, so its host is not done and the other host waits for it.
  for (std::size_t rank = 0; rank < 3; ++rank) {
    waiting.emplace_back([&ranks, &entered, rank] {
      ReduceReport report;
      ++entered;
      EXPECT_FALSE(ranks[rank]->reduce({}, report).ok());
      EXPECT_FALSE(ranks[rank]->reduce({}, report).ok());
    });
  }
  while (entered < 3) {
    std::this_thread::yield();
  }

  ranks[2]->abort();

  waiting.clear();
  ReduceReport report;
  EXPECT_FALSE(ranks[3]->reduce({}, report).ok());
}

TEST(HostGroups, FailEverywhereWhenHostsWereAskedForDifferentThings) {
  HostCrew crew({0, 0, 1, 1}, {.floats = 10});
  const std::vector<ShardPlace> places{{.rank = 0}, {.rank = 3}};
  as_threads(4, [&](int rank) {
    const auto self = crew.join(rank);
    const std::vector<float> weights{1, rank < 2 ? 1.0F : 2.0F};
    ReduceReport report;
    EXPECT_FALSE(self->reduce({.places = places, .weights = weights, .floats = 10}, report).ok());
  });
}

TEST(HostGroups, LetNobodyWaitIfTheHostsCannotConnect) {
  HostCrew crew({0, 0, 1}, {.floats = 10});
  HostGroups groups = crew.groups(0);
  groups.join_across = [](const GroupPart&) -> Result<std::unique_ptr<Communicator>> {
    return bad_input("no route");
  };
  const auto second = crew.join(1);

  EXPECT_FALSE(join_host_groups(groups).ok());

  ReduceReport report;
  EXPECT_FALSE(second->reduce({}, report).ok());
  groups.rank = 3;
  EXPECT_FALSE(join_host_groups(groups).ok());
}

}  // namespace
}  // namespace rubato
