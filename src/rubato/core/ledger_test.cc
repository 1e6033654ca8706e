#include "rubato/core/ledger.h"

#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/core/whole_seconds_test.h"

namespace rubato {
namespace {

TEST(Ledger, StartsEntirelyFree) {
  const Ledger ledger(8);

  EXPECT_EQ(ledger.free_at(at(0)), 8);
  EXPECT_EQ(ledger.min_free(at(0), at(1'000'000)), 8);
  EXPECT_EQ(ledger.breakpoints(), 0U);
}

TEST(Ledger, ReservationsAreHalfOpen) {
  Ledger ledger(8);

  ledger.reserve(at(10), at(20), 3);

  EXPECT_EQ(ledger.free_at(at(9)), 8);
  EXPECT_EQ(ledger.free_at(at(10)), 5);
  EXPECT_EQ(ledger.free_at(at(19)), 5);
  EXPECT_EQ(ledger.free_at(at(20)), 8);
}

TEST(Ledger, ReleaseUndoesReserveAndLeavesNoBreakpoint) {
  Ledger ledger(8);
  ledger.reserve(at(10), at(20), 3);
  ledger.reserve(at(20), at(30), 3);
  EXPECT_EQ(ledger.breakpoints(), 2U);  // The border between the two is not a change.

  ledger.release(at(10), at(30), 3);

  EXPECT_EQ(ledger.breakpoints(), 0U);
}

TEST(Ledger, JoinsRunsAtTheCap) {
  Ledger ledger(8);
  ledger.reserve(at(10), at(20), 3);
  ledger.reserve(at(30), at(40), 7);
  std::vector<int> seen;
  std::vector<Instant> begins;

  ledger.for_each_run(at(0), at(50), 4, [&](Instant begin, Instant, int free) {
    begins.push_back(begin);
    seen.push_back(free);
    return true;
  });

  EXPECT_EQ(seen, (std::vector<int>{4, 1, 4}));
  EXPECT_EQ(begins, (std::vector<Instant>{at(0), at(30), at(40)}));
}

TEST(Ledger, FindsTheEarliestFit) {
  Ledger ledger(4);
  ledger.reserve(at(0), at(10), 3);
  ledger.reserve(at(15), at(20), 2);

  EXPECT_EQ(ledger.earliest_fit(at(0), std::chrono::seconds{100}, 1), at(0));
  EXPECT_EQ(ledger.earliest_fit(at(0), std::chrono::seconds{5}, 3), at(10));
  EXPECT_EQ(ledger.earliest_fit(at(0), std::chrono::seconds{6}, 3), at(20));
  EXPECT_EQ(ledger.earliest_fit(at(0), std::chrono::seconds{1}, 5), kNever);
}

TEST(Ledger, LostCapacityMayGoBelowZeroAndCountsAsNone) {
  Ledger ledger(4);
  ledger.reserve(at(0), at(10), 3);

  ledger.change_capacity(at(5), -2);

  EXPECT_EQ(ledger.min_free(at(0), at(10)), -1);
  ledger.for_each_run(at(5), at(6), 4, [](Instant, Instant, int free) {
    EXPECT_EQ(free, 0);
    return true;
  });
}

TEST(Ledger, ForgettingThePastChangesNothingAhead) {
  Ledger ledger(4);
  ledger.reserve(at(0), at(10), 3);
  ledger.reserve(at(5), at(15), 1);

  ledger.forget_before(at(7));

  EXPECT_EQ(ledger.free_at(at(7)), 0);
  EXPECT_EQ(ledger.free_at(at(12)), 3);
  EXPECT_EQ(ledger.free_at(at(20)), 4);
  EXPECT_EQ(ledger.breakpoints(), 2U);
}

// One second per cell: the plainest thing that could be right.
struct Cells {
  std::vector<int> free;

  void add(std::int64_t from, std::int64_t to, int gpus) {
    for (std::int64_t t = from; t < to; ++t) {
      free[static_cast<std::size_t>(t)] += gpus;
    }
  }
  [[nodiscard]] int min(std::int64_t from, std::int64_t to) const {
    int least = free[static_cast<std::size_t>(from)];
    for (std::int64_t t = from; t < to; ++t) {
      least = std::min(least, free[static_cast<std::size_t>(t)]);
    }
    return least;
  }
};

void expect_equal(const Ledger& ledger, const Cells& cells, int cap) {
  const auto size = static_cast<std::int64_t>(cells.free.size());
  std::int64_t next = 0;
  ledger.for_each_run(at(0), at(size), cap, [&](Instant begin, Instant end, int free) {
    EXPECT_EQ(begin, at(next));
    for (; at(next) < end; ++next) {
      EXPECT_EQ(free, std::min(cap, cells.free[static_cast<std::size_t>(next)]));
    }
    return true;
  });
  EXPECT_EQ(next, size);
}

TEST(Ledger, MatchesOneCellPerSecondOverRandomHistories) {
  constexpr std::int64_t kSeconds = 600;
  constexpr int kCapacity = 64;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Ledger ledger(kCapacity);
    Cells cells{.free = std::vector<int>(kSeconds, kCapacity)};
    struct Held {
      std::int64_t from = 0;
      std::int64_t to = 0;
      int gpus = 0;
    };
    std::vector<Held> held;
    for (int i = 0; i < 900; ++i) {
      const std::int64_t from = random.integer(0, kSeconds - 2);
      const std::int64_t to = random.integer(from + 1, std::min(kSeconds - 1, from + 40));
      const int gpus = static_cast<int>(random.integer(1, 4));
      ASSERT_EQ(ledger.min_free(at(from), at(to)), cells.min(from, to)) << "seed " << seed;
      if (ledger.min_free(at(from), at(to)) >= gpus && random.chance(0.7)) {
        ledger.reserve(at(from), at(to), gpus);
        cells.add(from, to, -gpus);
        held.push_back(Held{.from = from, .to = to, .gpus = gpus});
      } else if (!held.empty()) {
        const auto which =
            static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(held.size()) - 1));
        ledger.release(at(held[which].from), at(held[which].to), held[which].gpus);
        cells.add(held[which].from, held[which].to, held[which].gpus);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    expect_equal(ledger, cells, kCapacity);
    expect_equal(ledger, cells, 8);
    for (const Held& each : held) {
      ledger.release(at(each.from), at(each.to), each.gpus);
    }
    EXPECT_EQ(ledger.breakpoints(), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
