#include "rubato/runtime/split/spin_budget.h"

#include <gtest/gtest.h>

namespace rubato::runtime::split {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// A process that computes and waits in turns.
class Waiter {
 public:
  /// Whether it spun for long.
  bool wait(SpinBudget::TimePoint::duration computing, SpinBudget::TimePoint::duration waiting,
            bool is_there = true) {
    now_ += computing;
    const bool is_long = budget_.spin() == SpinBudget::kLong;
    budget_.note(now_, now_ + waiting, is_there);
    now_ += waiting;
    return is_long;
  }

 private:
  SpinBudget budget_{};
  SpinBudget::TimePoint now_{std::chrono::hours(1)};
};

int long_spins(Waiter& waiter, int waits, milliseconds computing, microseconds waiting) {
  int count = 0;
  for (int i = 0; i < waits; ++i) {
    count += waiter.wait(computing, waiting) ? 1 : 0;
  }
  return count;
}

TEST(SpinBudget, SpinsForWhatComesSoon) {
  Waiter waiter;
  EXPECT_EQ(long_spins(waiter, 1000, milliseconds(2), microseconds(400)), 1000);
}

TEST(SpinBudget, SpinsInVainNoMoreThanItsShareOfTheTime) {
  Waiter waiter;
  const int waits = 10'000;
  const int spins = long_spins(waiter, waits, milliseconds(2), milliseconds(4));
  const double share = spins * 1.0 / (waits * 6.0);  // Of a millisecond each.
  EXPECT_GT(share, SpinBudget::kVainShareMax / 2);
  EXPECT_LT(share, SpinBudget::kVainShareMax * 1.1);
}

TEST(SpinBudget, SpinsAgainSoonAfterAnIdleTime) {
  Waiter waiter;
  long_spins(waiter, 1000, milliseconds(0), milliseconds(10));
  EXPECT_GT(long_spins(waiter, 1000, milliseconds(2), microseconds(400)), 900);
}

TEST(SpinBudget, DoesNotSpinWhenItOnlyLooksWhetherItsPeerIsAlive) {
  Waiter waiter;
  EXPECT_TRUE(waiter.wait(milliseconds(1), milliseconds(20), /*is_there=*/false));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(waiter.wait(milliseconds(0), milliseconds(20), /*is_there=*/false));
  }
}

}  // namespace
}  // namespace rubato::runtime::split
