#include "rubato/runtime/group/nccl_communicator.h"

#include <limits>
#include <rapidcheck.h>

#include "rubato/runtime/group/memory_rendezvous.h"
#include "rubato/runtime/shared_memory/shm_crew_test.h"

namespace rubato {
namespace {

const NcclPaths kFakePaths{.nccl = RUBATO_FAKE_NCCL, .cudart = RUBATO_FAKE_NCCL};

/// Ranks whose device is host memory.
class NcclCrew {
 public:
  NcclCrew(int size, std::size_t floats)
      : gradients_(static_cast<std::size_t>(size), std::vector<float>(floats)) {}

  [[nodiscard]] int size() const { return static_cast<int>(gradients_.size()); }
  [[nodiscard]] std::vector<float>& gradient(int rank) {
    return gradients_[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] NcclGroup group(int rank) {
    return {.rank = rank,
            .size = size(),
            .name = "crew",
            .gradient = gradient(rank).data(),
            .floats = gradient(rank).size(),
            .patience = from_seconds(120),
            .square = [](const float* values, std::size_t floats) -> Result<double> {
              return ShardScene::square_of({values, floats});
            }};
  }

  [[nodiscard]] std::unique_ptr<Communicator> join(int rank) {
    return *join_nccl_group(*load_nccl(kFakePaths), group(rank), rendezvous_);
  }

  [[nodiscard]] MemoryRendezvous& rendezvous() { return rendezvous_; }

 private:
  std::vector<std::vector<float>> gradients_;
  MemoryRendezvous rendezvous_{};
};

TEST(NcclTable, NamesWhatIsMissing) {
  const auto absent = load_nccl({.nccl = "libno-such-thing.so", .cudart = RUBATO_FAKE_NCCL});
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
  EXPECT_NE(absent.error().message.find("libno-such-thing.so"), std::string::npos);

  const auto wrong = load_nccl({.nccl = "libm.so.6", .cudart = RUBATO_FAKE_NCCL});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("ncclGetUniqueId"), std::string::npos);
}

TEST(NcclTable, FindsEverythingInTheRealLibraries) {
  const auto table = load_nccl();
  if (!table) {
    GTEST_SKIP() << table.error().message;
  }
  EXPECT_STREQ(table->get_error_string(kNcclSuccess), "no error");
}

TEST(NcclCommunicator, GivesEveryRankTheSumTheSquaresAndTheNotes) {
  EXPECT_TRUE(rc::check([] {
    const int size = *rc::gen::inRange(1, 6);
    const auto shards = *rc::gen::inRange<std::size_t>(1, static_cast<std::size_t>(size) + 1);
    const auto scene = ShardScene::random(shards, *rc::gen::inRange<std::size_t>(1, 300),
                                          *rc::gen::arbitrary<unsigned>());
    const std::vector<ShardPlace> places = scene.dealt_to(size);
    NcclCrew crew(size, scene.floats());
    std::atomic<int> right = 0;

    as_threads(size, [&](int rank) {
      const auto self = crew.join(rank);
      ReduceReport report;
      bool is_right = true;
      for (int step = 0; step < 3; ++step) {
        const auto at = static_cast<std::size_t>(rank);
        crew.gradient(rank) =
            at < shards
                ? scene.shards[at]
                : std::vector<float>(scene.floats(), std::numeric_limits<float>::quiet_NaN());
        const std::vector<double> note{0.1 * rank, -0.0};
        is_right = is_right && self->reduce({.places = places,
                                             .weights = scene.weights,
                                             .floats = scene.floats(),
                                             .wants_squares = true,
                                             .note = note},
                                            report)
                                   .ok();
        is_right = is_right && scene.is_sum(crew.gradient(rank)) &&
                   scene.has_squares(report, crew.gradient(rank));
        for (std::size_t other = 0; is_right && other < static_cast<std::size_t>(size); ++other) {
          is_right = report.notes[other * kNoteLength] == 0.1 * static_cast<double>(other) &&
                     std::signbit(report.notes[other * kNoteLength + 1]);
        }
      }
      right += is_right ? 1 : 0;
    });

    RC_ASSERT(right == size);
  }));
}

TEST(NcclCommunicator, ExchangesNotesAloneAndBroadcasts) {
  NcclCrew crew(3, 8);
  as_threads(3, [&crew](int rank) {
    const auto self = crew.join(rank);
    ReduceReport report;
    const double note = rank;
    ASSERT_TRUE(self->reduce({.note = {&note, 1}}, report).ok());
    ASSERT_EQ(report.notes[2 * kNoteLength], 2.0);
    std::ranges::fill(crew.gradient(rank), static_cast<float>(rank));
    ASSERT_TRUE(self->broadcast(std::as_writable_bytes(std::span(crew.gradient(rank))), 2).ok());
    ASSERT_EQ(crew.gradient(rank)[7], 2.0F);
  });
}

TEST(NcclCommunicator, IsBrokenOffFromAnotherThreadForGood) {
  NcclCrew crew(3, 8);
  std::vector<std::unique_ptr<Communicator>> ranks(3);
  as_threads(3, [&](int rank) { ranks[static_cast<std::size_t>(rank)] = crew.join(rank); });
  std::atomic<int> entered = 0;
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

  ranks[0]->abort();

  waiting.clear();
  ReduceReport report;
  EXPECT_FALSE(ranks[2]->reduce({}, report).ok());
}

TEST(NcclCommunicator, FailsOnEveryRankWhenTheyWereAskedForDifferentThings) {
  NcclCrew crew(2, 8);
  const std::vector<ShardPlace> places{{.rank = 0}};
  as_threads(2, [&](int rank) {
    const auto self = crew.join(rank);
    const std::vector<float> weights{static_cast<float>(rank)};
    ReduceReport report;
    EXPECT_FALSE(self->reduce({.places = places, .weights = weights, .floats = 8}, report).ok());
  });
}

TEST(NcclCommunicator, TakesNoGroupThatCannotWork) {
  NcclCrew crew(1, 8);
  const NcclTable table = *load_nccl(kFakePaths);
  const auto fails = [&](const NcclGroup& group) {
    return !join_nccl_group(table, group, crew.rendezvous()).ok();
  };

  NcclGroup group = crew.group(0);
  group.rank = 1;
  EXPECT_TRUE(fails(group));
  group = crew.group(0);
  group.gradient = nullptr;
  EXPECT_TRUE(fails(group));
  group = crew.group(0);
  group.device = 3;
  EXPECT_TRUE(fails(group));
  group = crew.group(0);
  group.rank = 1;
  group.size = 2;
  group.patience = Duration{1};
  group.name = "rank 0 never came";
  EXPECT_TRUE(fails(group));
}

TEST(NcclCommunicator, WantsToKnowHowToTakeSquares) {
  NcclCrew crew(1, 8);
  NcclGroup group = crew.group(0);
  group.square = nullptr;
  const auto self = *join_nccl_group(*load_nccl(kFakePaths), group, crew.rendezvous());
  const std::vector<ShardPlace> places{{.rank = 0}};
  const std::vector<float> weights{1};
  ReduceReport report;

  const Status status = self->reduce(
      {.places = places, .weights = weights, .floats = 8, .wants_squares = true}, report);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::BadConfig);
}

}  // namespace
}  // namespace rubato
