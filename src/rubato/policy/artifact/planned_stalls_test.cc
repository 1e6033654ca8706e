#include "rubato/policy/artifact/planned_stalls.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::artifact {
namespace {

TEST(PlannedStalls, SumsWhatLiesStrictlyInside) {
  PlannedStalls stalls;
  stalls.add(at_seconds(1), from_seconds(2));
  stalls.add(at_seconds(5), from_seconds(3));
  stalls.add(at_seconds(9), from_seconds(4));

  EXPECT_EQ(stalls.within(at_seconds(0), at_seconds(10)), from_seconds(9));
  EXPECT_EQ(stalls.within(at_seconds(1), at_seconds(9)), from_seconds(3));
  EXPECT_EQ(stalls.within(at_seconds(5), at_seconds(6)), from_seconds(0));
  EXPECT_EQ(stalls.within(at_seconds(0), kNever), from_seconds(9));
}

TEST(PlannedStalls, IsZeroWhenEmpty) {
  const PlannedStalls stalls;

  EXPECT_TRUE(stalls.empty());
  EXPECT_EQ(stalls.within(at_seconds(0), kNever), Duration{});
}

TEST(PlannedStalls, AgreesWithAPlainSum) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    PlannedStalls stalls;
    std::vector<std::pair<int, int>> plain;
    int at = 0;
    for (std::int64_t i = random.integer(0, 10); i > 0; --i) {
      at += static_cast<int>(random.integer(1, 3));
      plain.emplace_back(at, static_cast<int>(random.integer(0, 5)));
      stalls.add(Instant{Duration{plain.back().first}}, Duration{plain.back().second});
    }
    const auto from = static_cast<int>(random.integer(0, 20));
    const int to = from + static_cast<int>(random.integer(1, 20));
    int sum = 0;
    for (const auto& [moment, pause] : plain) {
      sum += from < moment && moment < to ? pause : 0;
    }
    ASSERT_EQ(stalls.within(Instant{Duration{from}}, Instant{Duration{to}}), Duration{sum})
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::artifact
