#include "rubato/runtime/futex_barrier.h"

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(FutexBarrier, LetsNobodyPassBeforeTheLast) {
  for (const bool spins : {false, true}) {
    constexpr int kSize = 4;
    constexpr int kRounds = 500;
    BarrierWords words{};
    std::array<std::atomic<int>, kSize> rounds{};
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < kSize; ++rank) {
        threads.emplace_back([&words, &rounds, rank, spins] {
          FutexBarrier barrier(words, kSize, spins);
          for (int round = 1; round <= kRounds; ++round) {
            rounds[rank] = round;
            ASSERT_TRUE(barrier.wait());
            for (const auto& other : rounds) {
              // The others have come, and at most have gone on to the next.
              ASSERT_GE(other, round);
              ASSERT_LE(other, round + 1);
            }
          }
        });
      }
    }
    EXPECT_EQ(words.sleepers, 0U);
    EXPECT_EQ(words.arrived, 0U);
  }
}

TEST(FutexBarrier, IsFreeForOne) {
  BarrierWords words{};
  FutexBarrier barrier(words, 1, /*spins=*/false);
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(barrier.wait());
  }
}

TEST(FutexBarrier, FailsForThoseWhoWaitWhenItIsBrokenAndForAllWhoComeLater) {
  for (const bool spins : {false, true}) {
    BarrierWords words{};
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 2; ++i) {
      waiting.emplace_back([&words, spins] { EXPECT_FALSE(FutexBarrier(words, 3, spins).wait()); });
    }
    while (words.arrived < 2) {
      std::this_thread::yield();
    }
    FutexBarrier last(words, 3, spins);
    EXPECT_FALSE(last.is_broken());

    last.abort();

    waiting.clear();
    EXPECT_TRUE(last.is_broken());
    EXPECT_FALSE(last.wait());
  }
}

TEST(FutexBarrier, SucceedsForAllIfItWasCompleteBeforeItWasBroken) {
  for (int round = 0; round < 200; ++round) {
    const bool spins = round % 2 == 0;
    BarrierWords words{};
    std::jthread other([&words, spins] { EXPECT_TRUE(FutexBarrier(words, 2, spins).wait()); });
    while (words.arrived == 0) {
      std::this_thread::yield();
    }
    FutexBarrier barrier(words, 2, spins);

    // The other is woken, and finds both that it may pass and that the barrier is broken.
    EXPECT_TRUE(barrier.wait());
    barrier.abort();
  }
}

}  // namespace
}  // namespace rubato
