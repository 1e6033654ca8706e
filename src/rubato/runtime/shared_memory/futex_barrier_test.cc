#include "rubato/runtime/shared_memory/futex_barrier.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(FutexBarrier, LetsNobodyPassBeforeAllHaveCome) {
  BarrierWords words{};
  std::atomic<int> come = 0;
  std::atomic<bool> is_early = false;
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&] {
        FutexBarrier barrier(words, 3, /*spins=*/false);
        for (int round = 1; round <= 200; ++round) {
          ++come;
          EXPECT_TRUE(barrier.wait());
          is_early = is_early || come < 3 * round;
        }
      });
    }
  }

  EXPECT_FALSE(is_early);
}

TEST(FutexBarrier, WakesThoseWhoWaitWhenItBreaks) {
  BarrierWords words{};
  FutexBarrier barrier(words, 2, /*spins=*/false);
  bool has_passed = true;
  {
    const std::jthread waiting([&] { has_passed = barrier.wait(); });
    FutexBarrier(words, 2, /*spins=*/false).abort();
  }

  EXPECT_FALSE(has_passed);
  EXPECT_FALSE(barrier.wait()) << "for good";
}

// Somebody breaks the barrier while the last rank comes: either both have passed or neither.
TEST(FutexBarrier, PassesAllOrNoneWheneverItBreaks) {
  for (int round = 0; round < 1000; ++round) {
    BarrierWords words{};
    std::array<bool, 2> has_passed{};
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        threads.emplace_back([&, rank] {
          has_passed[rank] = FutexBarrier(words, 2, /*spins=*/round % 2 == 0).wait();
        });
      }
      threads.emplace_back([&] { FutexBarrier(words, 2, /*spins=*/false).abort(); });
    }
    ASSERT_EQ(has_passed[0], has_passed[1]) << "round " << round;
  }
}

}  // namespace
}  // namespace rubato
