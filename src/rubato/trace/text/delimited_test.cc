#include "rubato/trace/text/delimited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::ElementsAre;

std::vector<std::string> split(std::string_view line, char separator = ',') {
  std::vector<std::string> fields{"left", "over", "from", "the", "last", "line"};
  EXPECT_TRUE(split_delimited(line, separator, fields));
  return fields;
}

TEST(Delimited, KeepsEmptyFieldsAndTrimsBlanks) {
  EXPECT_THAT(split("a, b ,,c,"), ElementsAre("a", "b", "", "c", ""));
  EXPECT_THAT(split(""), ElementsAre(""));
}

TEST(Delimited, QuotesHoldCommasAndQuotes) {
  EXPECT_THAT(split(R"("a,b", "say ""hi""",c)"), ElementsAre("a,b", "say \"hi\"", "c"));
  EXPECT_THAT(split(R"("")"), ElementsAre(""));
}

TEST(Delimited, RefusesAQuoteThatStaysOpen) {
  std::vector<std::string> fields;

  EXPECT_FALSE(split_delimited("a,\"b", ',', fields));
  EXPECT_FALSE(split_delimited("\"a\"\"", ',', fields));
}

TEST(Delimited, BlanksSeparateInRuns) {
  EXPECT_THAT(split("  1 \t 2   3 ", ' '), ElementsAre("1", "2", "3"));
}

TEST(Delimited, TabsSeparateOneByOneAndQuotesAreText) {
  EXPECT_THAT(split("a\t\"b\t\tc", '\t'), ElementsAre("a", "\"b", "", "c"));
}

}  // namespace
}  // namespace rubato
