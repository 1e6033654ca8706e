#include "rubato/policy/options.h"

#include <array>

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr std::array<std::string_view, 2> kColours = {"red", "green"};

TEST(PolicyOptions, ReadsKeysAndValues) {
  const auto options = PolicyOptions::parse("speed=2.5, colour = red ,on=true,list=1/2/3");

  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->number("speed", 0, 0, 10).value(), 2.5);
  EXPECT_EQ(options->word("colour", "green", kColours).value(), "red");
  EXPECT_TRUE(options->flag("on", false).value());
  EXPECT_EQ(options->numbers("list", {}).value(), (std::vector<double>{1, 2, 3}));
}

TEST(PolicyOptions, FallsBackWhenAKeyIsMissing) {
  const auto options = PolicyOptions::parse("");

  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->number("speed", 7, 0, 10).value(), 7);
  EXPECT_EQ(options->word("colour", "green", kColours).value(), "green");
  EXPECT_TRUE(options->flag("on", true).value());
  EXPECT_EQ(options->numbers("list", {4}).value(), (std::vector<double>{4}));
}

TEST(PolicyOptions, RefusesTextThatIsNotKeyAndValue) {
  EXPECT_FALSE(PolicyOptions::parse("speed").ok());
  EXPECT_FALSE(PolicyOptions::parse("=1").ok());
  EXPECT_FALSE(PolicyOptions::parse("a=1,,b=2").ok());
  EXPECT_FALSE(PolicyOptions::parse("a=1,a=2").ok());
}

TEST(PolicyOptions, RefusesValuesOfTheWrongKind) {
  const auto options = PolicyOptions::parse("speed=fast,colour=blue,on=perhaps,list=1/x");

  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->number("speed", 0, 0, 10).ok());
  EXPECT_FALSE(options->word("colour", "green", kColours).ok());
  EXPECT_FALSE(options->flag("on", false).ok());
  EXPECT_FALSE(options->numbers("list", {}).ok());
}

TEST(PolicyOptions, TakesNumbersAtTheirLimitsAndNoFurther) {
  const auto options = PolicyOptions::parse("low=0,high=10,under=-0.1,over=10.1");

  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->number("low", 5, 0, 10).ok());
  EXPECT_TRUE(options->number("high", 5, 0, 10).ok());
  EXPECT_FALSE(options->number("under", 5, 0, 10).ok());
  EXPECT_FALSE(options->number("over", 5, 0, 10).ok());
}

TEST(PolicyOptions, SuggestsTheNearestKey) {
  const auto options = PolicyOptions::parse("colur=red");

  ASSERT_TRUE(options.ok());
  const std::array<std::string_view, 2> known = {"speed", "colour"};
  const Status status = options->only(known);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("did you mean 'colour'"), std::string::npos);
}

TEST(PolicyOptions, SuggestsTheNearestWord) {
  const auto options = PolicyOptions::parse("colour=gren");

  ASSERT_TRUE(options.ok());
  const auto colour = options->word("colour", "red", kColours);
  ASSERT_FALSE(colour.ok());
  EXPECT_NE(colour.error().message.find("did you mean 'green'"), std::string::npos);
}

}  // namespace
}  // namespace rubato
