#include "rubato/base/spelling.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

const std::vector<std::string_view> kVerbs{"up", "run", "submit", "status", "elasticflow"};

TEST(Spelling, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_spelling("sumbit", kVerbs), "submit");
  EXPECT_EQ(nearest_spelling("STATUS", kVerbs), "status");
  EXPECT_EQ(nearest_spelling("elastic-flow", kVerbs), "elasticflow");
  EXPECT_EQ(nearest_spelling("ru", kVerbs), "run");
}

TEST(Spelling, SuggestsNothingForAWordThatIsFarFromAll) {
  EXPECT_EQ(nearest_spelling("kubernetes", kVerbs), "");
  EXPECT_EQ(nearest_spelling("submit", {}), "");
}

TEST(Spelling, SuggestsNoWordWithoutACommonLetter) {
  EXPECT_EQ(nearest_spelling("x", kVerbs), "");
  EXPECT_EQ(nearest_spelling("", kVerbs), "");
}

TEST(Spelling, PrefersTheFirstOfEquallyNearWords) {
  const std::vector<std::string_view> words{"bat", "cat"};

  EXPECT_EQ(nearest_spelling("rat", words), "bat");
}

TEST(Spelling, ComparesOnlyTheBeginningOfVeryLongWords) {
  EXPECT_EQ(nearest_spelling(std::string(1'000'000, 'a'), kVerbs), "");
}

TEST(Spelling, EndsAnErrorMessageWithTheSuggestion) {
  EXPECT_EQ(suggestion("sumbit", kVerbs), "; did you mean 'submit'?");
  EXPECT_EQ(suggestion("kubernetes", kVerbs), "");
}

}  // namespace
}  // namespace rubato
