#include "rubato/base/parse.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

TEST(Parse, TrimsEveryKindOfSpace) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Parse, ReadsWholeNumbers) {
  EXPECT_EQ(parse_int("42"), 42);
  EXPECT_EQ(parse_int(" +7 "), 7);
  EXPECT_EQ(parse_int("-3"), -3);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(Parse, RefusesWhatIsNotWhollyAWholeNumber) {
  for (const char* text : {"", " ", "+", "-", "+-3", "--3", "++3", "1.5", "12x", "1 2", "0x10",
                           "9223372036854775808"}) {
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
  }
}

TEST(Parse, ReadsFiniteNumbers) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("+1e3"), 1000.0);
  EXPECT_EQ(parse_double(" -.25 "), -0.25);
}

TEST(Parse, RefusesWhatIsNotAFiniteNumber) {
  for (const char* text : {"", "+", "nan", "inf", "-inf", "1e999", "1,5", "1.5s", "0x10", "+-1"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
}

TEST(Parse, WritesTheShortestTextThatReadsBack) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(100), "100");
  EXPECT_EQ(shortest(-2.5e-300), "-2.5e-300");
}

TEST(Parse, ReadsBackEveryNumberItWrote) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double number = random.normal(0, 1) * std::exp(random.uniform(-600, 600));

    ASSERT_EQ(parse_double(shortest(number)), number);
  }
}

}  // namespace
}  // namespace rubato
