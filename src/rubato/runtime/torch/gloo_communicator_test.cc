#include "rubato/runtime/group/gloo_communicator.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <rapidcheck.h>
#include <spawn.h>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "rubato/runtime/group/memory_rendezvous.h"
#include "rubato/runtime/shared_memory/shm_crew_test.h"

namespace rubato {
namespace {

const Duration kPatience = from_seconds(120);

/// The ranks of a group over loopback that are threads of this process.
class GlooCrew {
 public:
  GlooCrew(int size, const ArenaLayout& layout) : size_(size) {
    for (int rank = 0; rank < size; ++rank) {
      arenas_.push_back(std::make_shared<Arena>(*Arena::create(layout)));
    }
  }

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] Arena& arena(int rank) { return *arenas_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] std::unique_ptr<Communicator> join(int rank, const std::string& name = "crew") {
    const GlooGroup group{.rank = rank,
                          .size = size_,
                          .name = name,
                          .patience = kPatience,
                          .arena = arenas_[static_cast<std::size_t>(rank)],
                          .reaper = reaper_};
    auto joined = join_gloo_group(group, rendezvous_);
    EXPECT_TRUE(joined.ok()) << joined.error().message;
    return std::move(*joined);
  }

 private:
  int size_;
  std::vector<std::shared_ptr<Arena>> arenas_{};  // Groups share them, as in a worker.
  MemoryRendezvous rendezvous_{};
  std::shared_ptr<Reaper> reaper_ = std::make_shared<Reaper>();  // Shared by all groups.
};

struct GlooOutcome {
  std::vector<std::vector<float>> sums{};
  std::vector<ReduceReport> reports{};
};

/// What the ranks make of the shards, one step after the other.
GlooOutcome reduce_by_gloo(const ShardScene& scene, int size, std::size_t slots, int steps) {
  GlooCrew crew(size, {.floats = scene.floats() + 3, .slots = slots});
  const std::vector<ShardPlace> places = scene.dealt_to(size);
  GlooOutcome outcome;
  outcome.sums.resize(static_cast<std::size_t>(size));
  outcome.reports.resize(static_cast<std::size_t>(size));
  as_threads(size, [&](int rank) {
    const auto self = crew.join(rank);
    const std::span<float> behind = crew.arena(rank).slot(0).subspan(scene.floats());
    std::ranges::fill(behind, 7.0F);
    for (int step = 0; step < steps; ++step) {
      scene.fill(places, rank, crew.arena(rank));
      const std::vector<double> note{0.1 * rank, std::numeric_limits<double>::denorm_min(), -0.0};
      const Status status = self->reduce({.places = places,
                                          .weights = scene.weights,
                                          .floats = scene.floats(),
                                          .wants_squares = true,
                                          .note = note},
                                         outcome.reports[static_cast<std::size_t>(rank)]);
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
    EXPECT_EQ(std::ranges::count(behind, 7.0F), 3) << "floats beyond the request";
    const auto sum = crew.arena(rank).slot(0);
    outcome.sums[static_cast<std::size_t>(rank)].assign(
        sum.begin(), sum.begin() + static_cast<std::ptrdiff_t>(scene.floats()));
  });
  return outcome;
}

void expect_right(const ShardScene& scene, const GlooOutcome& outcome) {
  for (std::size_t rank = 0; rank < outcome.sums.size(); ++rank) {
    const ReduceReport& report = outcome.reports[rank];
    EXPECT_TRUE(scene.is_sum(outcome.sums[rank]));
    EXPECT_EQ(outcome.sums[rank], outcome.sums[0]);
    EXPECT_TRUE(scene.has_squares(report, outcome.sums[rank]));
    ASSERT_EQ(report.notes.size(), outcome.sums.size() * kNoteLength);
    for (std::size_t other = 0; other < outcome.sums.size(); ++other) {
      EXPECT_EQ(report.notes[other * kNoteLength], 0.1 * static_cast<double>(other));
      EXPECT_EQ(report.notes[other * kNoteLength + 1], std::numeric_limits<double>::denorm_min());
      EXPECT_TRUE(std::signbit(report.notes[other * kNoteLength + 2]));
    }
  }
}

TEST(GlooCommunicator, GivesEveryRankTheSumTheSquaresAndTheNotes) {
  unsigned seed = 0;
  for (const int size : {1, 2, 3, 4}) {
    for (const std::size_t floats : {1U, 77U, 50000U}) {
      const auto scene = ShardScene::random(static_cast<std::size_t>(size), floats, ++seed);
      expect_right(scene, reduce_by_gloo(scene, size, /*slots=*/1, /*steps=*/3));
    }
  }
}

TEST(GlooCommunicator, SumsAsideIfNotesAreLongerThanTheRoomBehindASlot) {
  const ShardScene scene = ShardScene::random(2, 1000, 4);
  const std::vector<ShardPlace> places = scene.dealt_to(2);
  MemoryRendezvous rendezvous;
  as_threads(2, [&](int rank) {
    const auto arena = std::make_shared<Arena>(*Arena::create({.floats = 1000}));
    const auto self = *join_gloo_group({.rank = rank,
                                        .size = 2,
                                        .name = "long",
                                        .patience = kPatience,
                                        .arena = arena,
                                        .note_length = 4096},
                                       rendezvous);
    scene.fill(places, rank, *arena);
    const std::vector<double> note(4096, 0.5 + rank);
    ReduceReport report;
    ASSERT_TRUE(self->reduce({.places = places,
                              .weights = scene.weights,
                              .floats = 1000,
                              .wants_squares = true,
                              .note = note},
                             report)
                    .ok());
    EXPECT_TRUE(scene.is_sum(arena->slot(0)));
    EXPECT_TRUE(scene.has_squares(report, arena->slot(0)));
    EXPECT_EQ(report.notes.back(), 1.5);
  });
}

TEST(GlooCommunicator, SumsNothingFromARankWithoutShard) {
  const ShardScene scene = ShardScene::random(2, 100, 7);
  expect_right(scene, reduce_by_gloo(scene, 3, /*slots=*/1, /*steps=*/1));
}

/// What a group on one host makes of the shards.
std::vector<float> sum_by_shm(const ShardScene& scene, ReduceReport& report) {
  ShmCrew crew(1, {.floats = scene.floats(), .slots = scene.shards.size()});
  const std::vector<ShardPlace> places = scene.dealt_to(1);
  scene.fill(places, 0, crew.arena(0));
  EXPECT_TRUE(crew.join(0)
                  ->reduce({.places = places,
                            .weights = scene.weights,
                            .floats = scene.floats(),
                            .wants_squares = true},
                           report)
                  .ok());
  const auto sum = crew.arena(0).slot(0);
  return {sum.begin(), sum.end()};
}

TEST(GlooCommunicator, SumsToTheBitsOfOneHostIfThereAreSeveralSlots) {
  unsigned seed = 10;
  for (const std::size_t shards : {2U, 5U, 12U}) {
    const ShardScene scene = ShardScene::random(shards, 70000, ++seed);
    ReduceReport expected;
    const std::vector<float> sum = sum_by_shm(scene, expected);
    for (const int size : {1, 2, 3}) {
      const GlooOutcome outcome = reduce_by_gloo(scene, size, shards, /*steps=*/2);

      expect_right(scene, outcome);
      EXPECT_EQ(outcome.sums[0], sum);
      EXPECT_EQ(outcome.reports[0].shard_squares, expected.shard_squares);
      EXPECT_EQ(outcome.reports[0].sum_square, expected.sum_square);
    }
  }
}

TEST(GlooCommunicator, GathersLongShardsPieceByPiece) {
  const ShardScene scene = ShardScene::random(6, 3'000'000, 3);
  ReduceReport expected;
  const std::vector<float> sum = sum_by_shm(scene, expected);

  const GlooOutcome outcome = reduce_by_gloo(scene, 3, /*slots=*/6, /*steps=*/1);

  EXPECT_EQ(outcome.sums[0], sum);
  EXPECT_EQ(outcome.reports[2].shard_squares, expected.shard_squares);
}

TEST(GlooCommunicator, ExchangesNotesAloneAndBroadcastsInBothModes) {
  for (const std::size_t slots : {1U, 2U}) {
    GlooCrew crew(3, {.parameter_bytes = 100'000, .floats = 4, .slots = slots});
    as_threads(3, [&crew](int rank) {
      const auto self = crew.join(rank);
      ReduceReport report;
      for (int round = 0; round < 50; ++round) {
        const double note = 3 * round + rank;
        ASSERT_TRUE(self->reduce({.note = {&note, 1}}, report).ok());
        for (int other = 0; other < 3; ++other) {
          ASSERT_EQ(report.notes[static_cast<std::size_t>(other) * kNoteLength], 3 * round + other);
        }
      }
      if (rank == 2) {
        std::ranges::fill(crew.arena(2).parameters(), std::byte{9});
      }
      ASSERT_TRUE(self->broadcast(crew.arena(rank).parameters(), 2).ok());
      ASSERT_EQ(crew.arena(rank).parameters()[99'999], std::byte{9});
    });
  }
}

TEST(GlooCommunicator, IsBrokenOffFromAnotherThreadForGood) {
  GlooCrew crew(3, {.parameter_bytes = 64, .floats = 4});
  std::vector<std::unique_ptr<Communicator>> ranks(3);
  as_threads(3, [&](int rank) { ranks[static_cast<std::size_t>(rank)] = crew.join(rank); });
  std::atomic<int> entered = 0;
  {
    // The third rank never comes.
    std::vector<std::jthread> waiting;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      waiting.emplace_back([&ranks, &entered, rank] {
        ReduceReport report;
        ++entered;
        EXPECT_FALSE(ranks[rank]->reduce({}, report).ok());
        EXPECT_FALSE(ranks[rank]->reduce({}, report).ok());
      });
    }
    while (entered < 2) {
      std::this_thread::yield();
    }

    // One alone might not reach the other, which may wait for the third.
    ranks[0]->abort();
    ranks[1]->abort();
  }
  ReduceReport report;
  EXPECT_FALSE(ranks[2]->reduce({}, report).ok());
}

TEST(GlooCommunicator, FailsOnEveryRankWhenTheyWereAskedForDifferentThings) {
  GlooCrew crew(2, {.floats = 4});
  const std::vector<ShardPlace> places{{.rank = 0}};
  as_threads(2, [&](int rank) {
    const std::vector<float> weights{static_cast<float>(rank)};
    ReduceReport report;
    const auto self = crew.join(rank);
    EXPECT_FALSE(self->reduce({.places = places, .weights = weights, .floats = 4}, report).ok());
  });
}

TEST(GlooCommunicator, GivesUpOnRanksThatDoNotJoin) {
  MemoryRendezvous rendezvous;
  const auto arena = std::make_shared<Arena>(*Arena::create({.floats = 4}));
  GlooGroup group{.size = 2, .name = "lonely", .patience = from_seconds(0.05), .arena = arena};

  const auto joined = join_gloo_group(group, rendezvous);

  ASSERT_FALSE(joined.ok());
  EXPECT_NE(joined.error().message.find("lonely"), std::string::npos);
  group.rank = 2;
  EXPECT_FALSE(join_gloo_group(group, rendezvous).ok());
}

TEST(GlooCommunicator, FollowsGenerationAfterGeneration) {
  GlooCrew crew(2, {.floats = 10});
  for (int generation = 0; generation < 10; ++generation) {
    as_threads(2, [&](int rank) {
      const auto self = crew.join(rank, fmt::format("generation{}", generation));
      ReduceReport report;
      const double note = generation;
      ASSERT_TRUE(self->reduce({.note = {&note, 1}}, report).ok());
      ASSERT_EQ(report.notes[kNoteLength], generation);
    });
  }
}

/// A rendezvous of processes: one file for each key.
class DirectoryRendezvous final : public Rendezvous {
 public:
  explicit DirectoryRendezvous(std::filesystem::path directory)
      : directory_(std::move(directory)) {}

  [[nodiscard]] Status set(std::string_view key, std::string_view value) override {
    const auto unfinished = path_of(key).string() + fmt::format(".{}", getpid());
    std::ofstream(unfinished, std::ios::binary) << value;
    std::filesystem::rename(unfinished, path_of(key));
    return ok_status();
  }

  [[nodiscard]] Result<std::string> get(std::string_view key, Duration patience) override {
    const auto start = std::chrono::steady_clock::now();
    while (!std::filesystem::exists(path_of(key))) {
      if (std::chrono::steady_clock::now() - start > patience) {
        return bad_input("absent");
      }
      std::this_thread::yield();
    }
    std::ostringstream text;
    text << std::ifstream(path_of(key), std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  [[nodiscard]] std::filesystem::path path_of(std::string_view key) const {
    std::string name(key);
    std::ranges::replace(name, '/', '_');
    return directory_ / name;
  }

  std::filesystem::path directory_;
};

constexpr int kEndsBroken = 42;
constexpr const char* kRoleVariable = "RUBATO_TEST_GLOO_ROLE";

/// What the processes of the tests below do: steps, until one fails.
TEST(GlooProcess, DISABLED_StepsUntilBroken) {
  std::istringstream role(std::getenv(kRoleVariable));
  std::string directory;
  int rank = 0;
  int size = 0;
  role >> directory >> rank >> size;
  DirectoryRendezvous rendezvous(directory);
  const auto arena = std::make_shared<Arena>(*Arena::create({.floats = 100'000}));
  auto joined = join_gloo_group(
      {.rank = rank, .size = size, .name = "run", .patience = kPatience, .arena = arena},
      rendezvous);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  std::vector<ShardPlace> places;
  for (int other = 0; other < size; ++other) {
    places.push_back({.rank = other});
  }
  const std::vector<float> weights(places.size(), 1.0F);
  ReduceReport report;
  for (int step = 0;; ++step) {
    std::ranges::fill(arena->slot(0), static_cast<float>(rank + 1));
    if (!(*joined)->reduce({.places = places, .weights = weights, .floats = 100'000}, report)) {
      _exit(kEndsBroken);
    }
    ASSERT_EQ(arena->slot(0)[99'999], static_cast<float>(size * (size + 1)) / 2.0F);
    if (step == 5) {
      ASSERT_TRUE(rendezvous.set(fmt::format("stepping{}", rank), "").ok());
    }
  }
}

pid_t spawn_stepper(const std::string& directory, int rank, int size) {
  setenv(kRoleVariable, fmt::format("{} {} {}", directory, rank, size).c_str(), 1);
  std::array<std::string, 3> words{"runtime_torch_test",
                                   "--gtest_filter=GlooProcess.DISABLED_StepsUntilBroken",
                                   "--gtest_also_run_disabled_tests"};
  std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ), 0);
  return child;
}

TEST(GlooProcess, SurvivesPeersThatAreKilledAndSaysSo) {
  std::string directory = std::filesystem::temp_directory_path() / "rubato-gloo-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  DirectoryRendezvous rendezvous(directory);
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank) {
    children.push_back(spawn_stepper(directory, rank, 3));
  }
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(rendezvous.get(fmt::format("stepping{}", rank), kPatience).ok());
  }

  kill(children[1], SIGKILL);

  EXPECT_EQ(end_of(children[1]), -SIGKILL);
  EXPECT_EQ(end_of(children[0]), kEndsBroken);
  EXPECT_EQ(end_of(children[2]), kEndsBroken);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace rubato
