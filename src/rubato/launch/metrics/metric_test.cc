#include "rubato/launch/metrics/metric.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace rubato::launch::metrics {
namespace {

TEST(CleanName, KeepsOrdinaryNames) {
  EXPECT_EQ(clean_name("loss"), "loss");
  EXPECT_EQ(clean_name("train/acc@5"), "train/acc@5");
  EXPECT_EQ(clean_name("pr\u00e9cision"), "pr\u00e9cision");
}

TEST(CleanName, MakesOneWordOfSeveral) {
  EXPECT_EQ(clean_name("  val \t loss\n"), "val_loss");
  EXPECT_EQ(clean_name("a, b"), "a_b");  // Commas part names in addresses.
}

TEST(CleanName, LeavesOutWhatIsNoText) {
  EXPECT_EQ(clean_name(std::string_view("lo\0ss\x1b", 6)), "loss");
  EXPECT_EQ(clean_name("lo\xff\xc3ss"), "loss");
  EXPECT_EQ(clean_name("a\xed\xa0\x80z"), "az");  // Half of a surrogate pair.
  EXPECT_EQ(clean_name("\xc2\x85"), "");          // A control character.
  EXPECT_EQ(clean_name(" \n"), "");
}

TEST(CleanName, CutsLongNamesBetweenLetters) {
  EXPECT_EQ(clean_name(std::string(1000, 'a')), std::string(kNameBytesMax, 'a'));
  const std::string accents = clean_name(std::string("x") + std::string(200, '\0') + [] {
    std::string many;
    for (int i = 0; i < 100; ++i) {
      many += "\u00e9";
    }
    return many;
  }());
  EXPECT_EQ(accents.size(), kNameBytesMax - 1);
}

TEST(SameName, IgnoresTheCaseOfLetters) {
  EXPECT_TRUE(is_same_name("Accuracy", "accuracy"));
  EXPECT_FALSE(is_same_name("accuracy", "acc"));
}

TEST(CleanValue, KeepsNumbersAndMakesInfinitiesNan) {
  EXPECT_EQ(clean_value(0.5), 0.5);
  EXPECT_TRUE(std::isnan(clean_value(-std::numeric_limits<double>::infinity())));
}

}  // namespace
}  // namespace rubato::launch::metrics
