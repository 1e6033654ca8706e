#include "rubato/runtime/split/row_queue.h"

#include <csignal>
#include <memory>
#include <new>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato::runtime::split {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::uint32_t kLeader = 11;
constexpr std::uint32_t kReplica = 22;

class RowQueueTest : public testing::Test {
 protected:
  RowQueueTest() : leader(RowQueue::open(region, 64).value()), replica(leader) {}

  SharedRegion region = SharedRegion::create(1 << 20).value();
  RowQueue leader;
  RowQueue replica;
};

TEST_F(RowQueueTest, HandsOutEachChunkOnce) {
  ASSERT_TRUE(leader.start(3));

  EXPECT_EQ(replica.take(kReplica), 0U);
  EXPECT_EQ(leader.take(kLeader), 1U);
  EXPECT_TRUE(replica.has_work());
  EXPECT_EQ(replica.take(kReplica), 2U);
  EXPECT_EQ(leader.take(kLeader), std::nullopt);
  EXPECT_FALSE(replica.has_work());
}

TEST_F(RowQueueTest, HasNoWorkBeforeTheFirstRound) {
  EXPECT_FALSE(leader.has_work());
  EXPECT_EQ(leader.take(kLeader), std::nullopt);
  EXPECT_TRUE(leader.wait_all(microseconds(0)));
}

TEST_F(RowQueueTest, WaitsUntilEveryChunkIsDone) {
  ASSERT_TRUE(leader.start(2));
  ASSERT_EQ(replica.take(kReplica), 0U);
  ASSERT_EQ(leader.take(kLeader), 1U);
  EXPECT_TRUE(leader.done(1, kLeader));

  EXPECT_FALSE(leader.wait_all(microseconds(1)));
  const std::jthread other([&] { replica.done(0, kReplica); });
  EXPECT_TRUE(leader.wait_all(seconds(20)));
  EXPECT_EQ(leader.failed(), 0U);
}

TEST_F(RowQueueTest, CountsChunksThatFailed) {
  ASSERT_TRUE(leader.start(2));
  ASSERT_EQ(replica.take(kReplica), 0U);
  ASSERT_EQ(replica.take(kReplica), 1U);

  EXPECT_TRUE(replica.fail(1, kReplica));
  EXPECT_TRUE(replica.done(0, kReplica));

  EXPECT_TRUE(leader.wait_all(microseconds(0)));
  EXPECT_EQ(leader.failed(), 1U);
}

TEST_F(RowQueueTest, StartsNoRoundWhileSomebodyMayStillWriteRowsOfTheLast) {
  ASSERT_TRUE(leader.start(5));
  ASSERT_EQ(replica.take(kReplica), 0U);

  leader.stop();
  EXPECT_EQ(replica.take(kReplica), std::nullopt);
  EXPECT_FALSE(leader.start(5));
  EXPECT_EQ(leader.held().size(), 1U);

  EXPECT_TRUE(replica.done(0, kReplica));
  EXPECT_TRUE(leader.start(5));
  EXPECT_EQ(replica.take(kReplica), 0U);
}

TEST_F(RowQueueTest, IgnoresAnOwnerWhoseChunkWasGivenToAnother) {
  ASSERT_TRUE(leader.start(1));
  ASSERT_EQ(replica.take(kReplica), 0U);

  EXPECT_EQ(leader.reclaim(kReplica, kLeader), std::vector<std::uint32_t>{0});
  EXPECT_FALSE(replica.done(0, kReplica));
  EXPECT_FALSE(leader.wait_all(microseconds(1)));
  EXPECT_TRUE(leader.done(0, kLeader));

  EXPECT_TRUE(leader.wait_all(microseconds(0)));
}

TEST_F(RowQueueTest, MovesOnPastAChunkWhoseOwnerWasKilledBeforeItMovedTheTicket) {
  const auto words = std::make_unique<RowQueueWords>();
  RowQueue queue(*words);
  ASSERT_TRUE(queue.start(2));
  const std::uint64_t before = words->ticket.load();
  ASSERT_EQ(queue.take(kReplica), 0U);
  words->ticket.store(before);

  EXPECT_EQ(queue.take(kLeader), 1U);
  EXPECT_EQ(queue.reclaim(kReplica, kLeader), std::vector<std::uint32_t>{0});
}

TEST_F(RowQueueTest, KnowsWhatAKilledProcessHeld) {
  ASSERT_TRUE(leader.start(4));
  const pid_t child = fork();
  if (child == 0) {
    const auto self = static_cast<std::uint32_t>(getpid());
    if (replica.take(self) && replica.take(self)) {
      raise(SIGKILL);
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto lost = leader.reclaim(static_cast<std::uint32_t>(child), kLeader);

  EXPECT_EQ(lost, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(leader.take(kLeader), 2U);
}

TEST_F(RowQueueTest, NeverHandsOutAChunkTwiceHoweverManyTakeAtOnce) {
  constexpr int kRounds = 300;
  constexpr std::uint32_t kChunks = 40;
  std::array<std::atomic<int>, kChunks> taken{};
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> takers;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    takers.emplace_back([&, id, queue = leader]() mutable {
      while (!is_over) {
        if (const auto chunk = queue.take(id)) {
          ++taken[*chunk];
          queue.done(*chunk, id);
        } else {
          std::this_thread::yield();
        }
      }
    });
  }

  bool is_right = true;
  for (int round = 1; is_right && round <= kRounds; ++round) {
    is_right = leader.start(kChunks);
    while (const auto chunk = leader.take(kLeader)) {
      ++taken[*chunk];
      leader.done(*chunk, kLeader);
    }
    is_right = is_right && leader.wait_all(seconds(20));
    for (const std::atomic<int>& count : taken) {
      is_right = is_right && count == round;
    }
  }
  is_over = true;

  EXPECT_TRUE(is_right);
}

}  // namespace
}  // namespace rubato::runtime::split
