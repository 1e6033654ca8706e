#include "rubato/cli/demo/demo_deadline.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(DemoDeadline, ScalesWorkToTheMachineInWholeUnits) {
  const DemoQuote quote{.steps = 1000, .earliest_seconds = 100};
  EXPECT_EQ(steps_for(quote, 12, 10), 120);
  EXPECT_EQ(steps_for(quote, 12, 100), 100);
  EXPECT_EQ(steps_for(quote, 1, 100), 100) << "at least one unit";
  EXPECT_EQ(steps_for({.steps = 1000, .earliest_seconds = 1e-3}, 12, 10), 1000) << "not forever";
}

TEST(DemoDeadline, LeavesRoomForNeighboursOnTheSameProcessors) {
  const DemoQuote quote{.steps = 100, .earliest_seconds = 20};
  const double alone = generous_deadline(quote, {.slots = 2, .processors = 4});
  const double crowded = generous_deadline(quote, {.slots = 4, .processors = 2});
  EXPECT_GT(alone, quote.earliest_seconds);
  EXPECT_DOUBLE_EQ(crowded, 2 * alone);
  EXPECT_GT(generous_deadline(quote, {.slots = 2, .processors = 4, .start_seconds = 5}), alone + 5);
}

TEST(DemoDeadline, AsksForTheImpossibleOnPurpose) {
  EXPECT_LT(impossible_deadline({.steps = 100, .earliest_seconds = 20}), 10);
  EXPECT_GT(impossible_deadline({.steps = 100, .earliest_seconds = 0.1}), 0);
}

}  // namespace
}  // namespace rubato
