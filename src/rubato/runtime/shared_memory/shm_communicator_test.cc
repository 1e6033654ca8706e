#include "rubato/runtime/shared_memory/shm_communicator.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <rapidcheck.h>
#include <string>

#include "rubato/runtime/shared_memory/shm_crew_test.h"

namespace rubato {
namespace {

struct ReduceOutcome {
  std::vector<std::vector<float>> sums{};  // By rank.
  std::vector<ReduceReport> reports{};
};

/// What a crew of threads makes of the shards.
ReduceOutcome reduce_by_threads(const ShardScene& scene, int size, bool wants_squares) {
  const std::size_t slots =
      (scene.shards.size() + static_cast<std::size_t>(size) - 1) / static_cast<std::size_t>(size);
  ShmCrew crew(size, {.floats = scene.floats(), .slots = slots});
  const std::vector<ShardPlace> places = scene.dealt_to(size);
  ReduceOutcome outcome;
  outcome.sums.resize(static_cast<std::size_t>(size));
  outcome.reports.resize(static_cast<std::size_t>(size));
  as_threads(size, [&](int rank) {
    const auto self = crew.join(rank);
    scene.fill(places, rank, crew.arena(rank));
    const std::vector<double> note{0.1 * rank, std::numeric_limits<double>::denorm_min(), -0.0};
    const Status status = self->reduce({.places = places,
                                        .weights = scene.weights,
                                        .floats = scene.floats(),
                                        .wants_squares = wants_squares,
                                        .note = note},
                                       outcome.reports[static_cast<std::size_t>(rank)]);
    EXPECT_TRUE(status.ok());
    const auto sum = crew.arena(rank).slot(0);
    outcome.sums[static_cast<std::size_t>(rank)].assign(sum.begin(), sum.end());
  });
  return outcome;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

ShardScene random_scene() {
  return ShardScene::random(
      *rc::gen::inRange<std::size_t>(1, 20),
      *rc::gen::weightedOneOf<std::size_t>({{2, rc::gen::inRange<std::size_t>(1, 600)},
                                            {1, rc::gen::inRange<std::size_t>(1, 60000)}}),
      *rc::gen::arbitrary<unsigned>());
}

TEST(ShmCommunicator, MeasuresOnlyTheFloatsThatAreGradients) {
  rc::check([] {
    const ShardScene scene = random_scene();
    const std::size_t measured = *rc::gen::inRange<std::size_t>(0, scene.floats() + 1);
    ShardScene gradients = scene;
    for (auto& shard : gradients.shards) {
      std::fill(shard.begin() + static_cast<std::ptrdiff_t>(measured), shard.end(), 0.0F);
    }
    ShmCrew crew(1, {.floats = scene.floats(), .slots = scene.shards.size()});
    const std::vector<ShardPlace> places = scene.dealt_to(1);
    const auto self = crew.join(0);
    ReduceReport report;
    const auto reduce = [&](const ShardScene& filled, std::size_t counted) {
      filled.fill(places, 0, crew.arena(0));
      return self->reduce({.places = places,
                           .weights = scene.weights,
                           .floats = scene.floats(),
                           .wants_squares = true,
                           .measured_floats = counted},
                          report);
    };
    RC_ASSERT(reduce(gradients, scene.floats()).ok());
    const ReduceReport expected = report;

    RC_ASSERT(reduce(scene, measured).ok());

    const auto sum = crew.arena(0).slot(0);
    RC_ASSERT(scene.is_sum({sum.begin(), sum.end()}));
    for (std::size_t i = 0; i < places.size(); ++i) {
      RC_ASSERT(std::abs(report.shard_squares[i] - expected.shard_squares[i]) <=
                1e-5 * expected.shard_squares[i]);
    }
    RC_ASSERT(std::abs(report.sum_square - expected.sum_square) <= 1e-5 * expected.sum_square);
  });
}

TEST(ShmCommunicator, GivesEveryRankTheWeightedSumAndItsSquares) {
  EXPECT_TRUE(rc::check([] {
    const ShardScene scene = random_scene();
    const int size = *rc::gen::inRange(1, 9);

    const ReduceOutcome outcome = reduce_by_threads(scene, size, /*wants_squares=*/true);

    for (int rank = 0; rank < size; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      RC_ASSERT(scene.is_sum(outcome.sums[at]));
      RC_ASSERT(same_bits(outcome.sums[at], outcome.sums[0]));
      RC_ASSERT(scene.has_squares(outcome.reports[at], outcome.sums[at]));
      RC_ASSERT(outcome.reports[at].shard_squares == outcome.reports[0].shard_squares);
      RC_ASSERT(outcome.reports[at].sum_square == outcome.reports[0].sum_square);
    }
  }));
}

TEST(ShmCommunicator, SumsToTheSameBitsForEveryNumberOfRanks) {
  EXPECT_TRUE(rc::check([] {
    const ShardScene scene = random_scene();
    const bool wants_squares = *rc::gen::arbitrary<bool>();
    const ReduceOutcome alone = reduce_by_threads(scene, 1, wants_squares);

    const ReduceOutcome together = reduce_by_threads(scene, *rc::gen::inRange(2, 9), wants_squares);

    RC_ASSERT(same_bits(together.sums[0], alone.sums[0]));
    RC_ASSERT(together.reports[0].shard_squares == alone.reports[0].shard_squares);
    RC_ASSERT(together.reports[0].sum_square == alone.reports[0].sum_square);
  }));
}

TEST(ShmCommunicator, PassesNotesOnToTheLastBit) {
  const ReduceOutcome outcome = reduce_by_threads(ShardScene::random(3, 10, 1), 3, false);

  for (const ReduceReport& report : outcome.reports) {
    ASSERT_EQ(report.notes.size(), 3 * kNoteLength);
    EXPECT_TRUE(report.shard_squares.empty());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(report.notes[rank * kNoteLength], 0.1 * static_cast<double>(rank));
      EXPECT_EQ(report.notes[rank * kNoteLength + 1], std::numeric_limits<double>::denorm_min());
      EXPECT_TRUE(std::signbit(report.notes[rank * kNoteLength + 2]));
      EXPECT_EQ(report.notes[rank * kNoteLength + 3], 0.0);
    }
  }
}

TEST(ShmCommunicator, ExchangesNotesAloneManyTimesInARow) {
  ShmCrew crew(4, {});
  as_threads(4, [&crew](int rank) {
    const auto self = crew.join(rank);
    ReduceReport report;
    for (int round = 0; round < 2000; ++round) {
      const double note = 4 * round + rank;
      ASSERT_TRUE(self->reduce({.note = {&note, 1}}, report).ok());
      for (int other = 0; other < 4; ++other) {
        ASSERT_EQ(report.notes[static_cast<std::size_t>(other) * kNoteLength], 4 * round + other);
      }
    }
  });
}

TEST(ShmCommunicator, LeavesFloatsBeyondTheRequestAlone) {
  ShmCrew crew(2, {.floats = 1000});
  const std::vector<ShardPlace> places{{.rank = 0}, {.rank = 1}};
  const std::vector<float> weights{1, 1};
  as_threads(2, [&](int rank) {
    std::ranges::fill(crew.arena(rank).slot(0), 1.0F);
    ReduceReport report;
    EXPECT_TRUE(crew.join(rank)
                    ->reduce({.places = places, .weights = weights, .floats = 501}, report)
                    .ok());
  });
  for (int rank = 0; rank < 2; ++rank) {
    for (std::size_t at = 0; at < 1000; ++at) {
      ASSERT_EQ(crew.arena(rank).slot(0)[at], at < 501 ? 2.0F : 1.0F);
    }
  }
}

TEST(ShmCommunicator, BroadcastsFromInsideAndOutsideTheArena) {
  EXPECT_TRUE(rc::check([] {
    const int size = *rc::gen::inRange(1, 6);
    const int source = *rc::gen::inRange(0, size);
    const auto bytes = *rc::gen::weightedOneOf<std::size_t>(
        {{4, rc::gen::inRange<std::size_t>(0, 3000)}, {1, rc::gen::just<std::size_t>(5'000'000)}});
    const bool from_arena = *rc::gen::arbitrary<bool>();
    const bool to_arena = *rc::gen::arbitrary<bool>();
    ShmCrew crew(size, {.parameter_bytes = bytes});
    std::vector<std::vector<std::byte>> own(static_cast<std::size_t>(size),
                                            std::vector<std::byte>(bytes));
    std::atomic<int> right = 0;

    as_threads(size, [&](int rank) {
      const bool inside = rank == source ? from_arena : to_arena;
      const std::span<std::byte> place =
          inside ? crew.arena(rank).parameters() : std::span(own[static_cast<std::size_t>(rank)]);
      for (std::size_t at = 0; at < bytes && rank == source; ++at) {
        place[at] = static_cast<std::byte>(at * 7);
      }
      const auto self = crew.join(rank);
      const bool succeeded = self->broadcast(place, source).ok();
      bool is_equal = true;
      for (std::size_t at = 0; at < bytes; ++at) {
        is_equal = is_equal && place[at] == static_cast<std::byte>(at * 7);
      }
      right += succeeded && is_equal ? 1 : 0;
    });

    RC_ASSERT(right == size);
  }));
}

TEST(ShmCommunicator, FailsOnEveryRankWhenTheyWereAskedForDifferentThings) {
  ShmCrew crew(3, {.parameter_bytes = 64, .floats = 10});
  const std::vector<ShardPlace> places{{.rank = 0}};
  as_threads(3, [&](int rank) {
    const std::vector<float> weights{rank == 2 ? 2.0F : 1.0F};
    ReduceReport report;
    EXPECT_FALSE(
        crew.join(rank)->reduce({.places = places, .weights = weights, .floats = 10}, report).ok());
  });
  crew.meet_anew();
  as_threads(3, [&](int rank) {
    EXPECT_FALSE(crew.join(rank)->broadcast(crew.arena(rank).parameters(), rank / 2).ok());
  });
}

TEST(ShmCommunicator, LetsNobodyWaitForARankWhoseRequestIsWrong) {
  ShmCrew crew(2, {.floats = 10});
  const std::vector<ShardPlace> right{{.rank = 0}};
  const std::vector<ShardPlace> wrong{{.rank = 0, .slot = 1}};
  const std::vector<float> weights{1};
  as_threads(2, [&](int rank) {
    const auto self = crew.join(rank);
    ReduceReport report;
    const Status status = self->reduce(
        {.places = rank == 0 ? right : wrong, .weights = weights, .floats = 10}, report);
    EXPECT_FALSE(status.ok());
  });
}

TEST(ShmCommunicator, IsBrokenOffFromAnotherThreadForGood) {
  ShmCrew crew(3, {.parameter_bytes = 64, .floats = 10});
  // Two ranks wait in different calls or sleep; the third never comes.
  const auto first = crew.join(0);
  const auto second = crew.join(1);
  std::atomic<int> entered = 0;
  std::jthread reducer([&] {
    ReduceReport report;
    ++entered;
    EXPECT_FALSE(first->reduce({}, report).ok());
    EXPECT_FALSE(first->broadcast(crew.arena(0).parameters(), 0).ok());
  });
  std::jthread other([&] {
    ++entered;
    EXPECT_FALSE(second->broadcast(crew.arena(1).parameters(), 2).ok());
  });
  while (entered < 2) {
    std::this_thread::yield();
  }

  second->abort();

  reducer.join();
  other.join();
  ReduceReport report;
  EXPECT_FALSE(crew.join(2)->reduce({}, report).ok());
}

TEST(ShmCommunicator, TakesNoGroupThatCannotWork) {
  ShmCrew crew(2, {.floats = 10});
  const auto fails = [](ShmGroup group) { return !join_shm_group(std::move(group)).ok(); };

  ShmGroup group = crew.group(0);
  group.rank = 2;
  EXPECT_TRUE(fails(group));
  group = crew.group(0);
  group.meeting = -1;
  EXPECT_TRUE(fails(group));
  group = crew.group(0);
  group.meeting = crew.arena(0).descriptor();
  EXPECT_TRUE(fails(group));
  group = crew.group(0);
  group.arenas[1] = nullptr;
  EXPECT_TRUE(fails(group));
  group.arenas[1] = std::make_shared<Arena>(*Arena::create({.floats = 11}));
  EXPECT_TRUE(fails(group));
  group.arenas.clear();
  EXPECT_TRUE(fails(group));

  const auto joined = crew.join(0);
  group = crew.group(1);
  group.arenas.pop_back();
  group.rank = 0;
  EXPECT_TRUE(fails(group)) << "a group of another size meets there";
}

/// Descriptors and mappings of this process.
std::pair<std::size_t, std::size_t> things_held() {
  std::size_t descriptors = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++descriptors;
  }
  std::size_t mappings = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool is_ours = line.find("rubato-arena") != std::string::npos ||
                         line.find("test-meeting") != std::string::npos;
    mappings += is_ours ? 1U : 0U;
  }
  return {descriptors, mappings};
}

TEST(ShmCommunicator, LeavesNothingBehindAfterManyGenerations) {
  const auto before = things_held();
  {
    ShmCrew crew(2, {.floats = 100});
    const std::vector<ShardPlace> places{{.rank = 0}, {.rank = 1}};
    const std::vector<float> weights{0.5, 0.5};
    for (int generation = 0; generation < 100; ++generation) {
      as_threads(2, [&](int rank) {
        const auto self = crew.join(rank);
        std::ranges::fill(crew.arena(rank).slot(0), static_cast<float>(2 * generation + rank));
        ReduceReport report;
        ASSERT_TRUE(
            self->reduce({.places = places, .weights = weights, .floats = 100}, report).ok());
        ASSERT_EQ(crew.arena(rank).slot(0)[99], static_cast<float>(2 * generation) + 0.5F);
      });
      crew.meet_anew();
    }
  }
  EXPECT_EQ(things_held(), before);
}

}  // namespace
}  // namespace rubato
