#include "rubato/job/emulated_speed.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(EmulatedSpeed, LiesOnTheLinesBetweenKnownPoints) {
  const EmulatedSpeeds speeds{{2, 10}, {4, 16}};

  EXPECT_DOUBLE_EQ(speed_at(speeds, 1), 5);
  EXPECT_DOUBLE_EQ(speed_at(speeds, 2), 10);
  EXPECT_DOUBLE_EQ(speed_at(speeds, 3), 13);
  EXPECT_DOUBLE_EQ(speed_at(speeds, 64), 16);
  EXPECT_DOUBLE_EQ(speed_at({}, 3), 3);
}

TEST(EmulatedSpeed, ReadsPoints) {
  const auto speeds = parse_speeds({"4:12.5", "1:3.5"});

  ASSERT_TRUE(speeds.ok());
  EXPECT_EQ(*speeds, (EmulatedSpeeds{{1, 3.5}, {4, 12.5}}));
}

TEST(EmulatedSpeed, SaysWhatItExpected) {
  for (const char* text : {"", "4", "4:", ":3", "0:1", "4:0", "4:-1", "4:nan", "4:1x", "x:1"}) {
    const auto speeds = parse_speeds({text});

    ASSERT_FALSE(speeds.ok()) << text;
    EXPECT_NE(speeds.error().message.find("such as 4:12.5"), std::string::npos);
  }
}

}  // namespace
}  // namespace rubato
