#include "rubato/policy/tiresias/gittins.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::tiresias {
namespace {

TEST(GittinsIndex, MatchesTheHandComputedValues) {
  const std::vector<double> sizes = {12, 4, 8};
  const GittinsIndex index(sizes);

  EXPECT_NEAR(index.at(0), 0.125, 1e-12);
  EXPECT_NEAR(index.at(4), 1.0 / 6, 1e-12);
  EXPECT_NEAR(index.at(8), 0.25, 1e-12);
}

TEST(GittinsIndex, IsZeroBeyondTheHistory) {
  const std::vector<double> sizes = {4};

  EXPECT_EQ(GittinsIndex(sizes).at(4), 0);
  EXPECT_EQ(GittinsIndex().at(0), 0);
}

// The definition, one step width after another.
double by_definition(const std::vector<double>& sizes, double attained) {
  double best = 0;
  for (const double limit : sizes) {
    if (limit <= attained) {
      continue;
    }
    double ended = 0;
    double cost = 0;
    for (const double size : sizes) {
      if (size > attained) {
        ended += size <= limit ? 1 : 0;
        cost += std::min(size, limit) - attained;
      }
    }
    best = std::max(best, ended / cost);
  }
  return best;
}

TEST(GittinsIndex, EqualsTheDefinitionOnRandomHistories) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::vector<double> sizes;
    for (std::int64_t i = random.integer(1, 12); i > 0; --i) {
      sizes.push_back(static_cast<double>(random.integer(1, 30)));
    }
    const double attained = static_cast<double>(random.integer(0, 30));

    ASSERT_NEAR(GittinsIndex(sizes).at(attained), by_definition(sizes, attained), 1e-9)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::tiresias
