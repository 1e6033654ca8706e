#include "rubato/job/speed_window.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(SpeedWindow, LongStepsAreAsFastAsTheyAre) {
  SpeedWindow window;
  for (int i = 0; i < 5; ++i) {
    window.add(4, 1, 3);
  }

  EXPECT_DOUBLE_EQ(window.speed(4), 1.0 / 3);
}

TEST(SpeedWindow, OneStepSaysTooLittle) {
  SpeedWindow window;
  window.add(1, 1, 0.5);
  EXPECT_EQ(window.speed(1), 0);

  window.add(1, 1, 0.5);
  EXPECT_EQ(window.speed(1), 2);
}

TEST(SpeedWindow, OtherWorkersBeginANewWindow) {
  SpeedWindow window;
  window.add(1, 100, 10);
  window.add(2, 40, 2);

  EXPECT_EQ(window.speed(1), 0);
  EXPECT_EQ(window.speed(2), 20);
}

TEST(SpeedWindow, FollowsAJobThatSlowsDown) {
  SpeedWindow window;
  window.add(1, 1000, 100);
  for (int i = 0; i < 100; ++i) {
    window.add(1, 5, 1);
  }

  EXPECT_NEAR(window.speed(1), 5, 0.01);
}

TEST(SpeedWindow, NonsenseIsNotCounted) {
  SpeedWindow window;
  window.add(1, 10, 1);
  window.add(1, 0, 1);
  window.add(1, 10, 0);

  EXPECT_EQ(window.speed(1), 10);
}

}  // namespace
}  // namespace rubato
