#include "rubato/core/value.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

TEST(Value, IsTheSameWheneverAConstantJobFinishes) {
  const ValueFunction value{.amount = 5};

  EXPECT_DOUBLE_EQ(value.at(from_seconds(0)), 5);
  EXPECT_DOUBLE_EQ(value.at(kLongest), 5);
}

TEST(Value, FallsStepByStep) {
  const ValueFunction value{.kind = ValueKind::Steps,
                            .steps = {{from_seconds(10), 3}, {from_seconds(20), 1}}};

  EXPECT_DOUBLE_EQ(value.at(from_seconds(10)), 3);
  EXPECT_DOUBLE_EQ(value.at(from_seconds(10) + Duration{1}), 1);
  EXPECT_DOUBLE_EQ(value.at(from_seconds(20)), 1);
  EXPECT_DOUBLE_EQ(value.at(from_seconds(20.5)), 0);
}

TEST(Value, IsHalfGoneAtTheKneeOfASigmoid) {
  const ValueFunction value{
      .kind = ValueKind::Sigmoid, .amount = 8, .decay = 0.5, .knee = from_seconds(100)};

  EXPECT_DOUBLE_EQ(value.at(from_seconds(100)), 4);
  EXPECT_NEAR(value.at(from_seconds(0)), 8, 1e-9);
  EXPECT_DOUBLE_EQ(value.at(kLongest), 0);
}

TEST(Value, FallsLinearlyAfterTheDeadlineButNotBelowZero) {
  const ValueFunction value{
      .kind = ValueKind::LinearAfterDeadline, .amount = 10, .decay = 2, .knee = from_seconds(60)};

  EXPECT_DOUBLE_EQ(value.at(from_seconds(60)), 10);
  EXPECT_DOUBLE_EQ(value.at(from_seconds(62)), 6);
  EXPECT_DOUBLE_EQ(value.at(from_seconds(1000)), 0);
}

TEST(Value, NeverRises) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const ValueFunction value{.kind = static_cast<ValueKind>(random.integer(0, 3)),
                              .amount = random.uniform(0, 100),
                              .decay = random.uniform(0, 5),
                              .knee = from_seconds(random.uniform(0, 100)),
                              .steps = {{from_seconds(50), 3}, {from_seconds(90), 2}}};
    const Duration early = from_seconds(random.uniform(0, 200));
    const Duration late = early + from_seconds(random.uniform(0, 200));

    ASSERT_GE(value.at(early), value.at(late)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
