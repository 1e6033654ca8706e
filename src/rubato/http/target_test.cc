#include "rubato/http/target.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(HttpTarget, SplitsPathAndQueryAndUnescapesThem) {
  const auto target = parse_target("/v1/jobs/a%2Fb?state=RUNNING&tenant=red+%26+blue&&flag");

  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->segments, ElementsAre("v1", "jobs", "a/b"));
  EXPECT_THAT(target->query, ElementsAre(Pair("flag", ""), Pair("state", "RUNNING"),
                                         Pair("tenant", "red & blue")));
}

TEST(HttpTarget, APlusInAPathIsAPlus) {
  EXPECT_THAT(parse_target("/a+b")->segments, ElementsAre("a+b"));
}

TEST(HttpTarget, TheRootAndATrailingSlashHaveAnEmptySegment) {
  EXPECT_THAT(parse_target("/")->segments, ElementsAre(""));
  EXPECT_THAT(parse_target("/a/")->segments, ElementsAre("a", ""));
}

TEST(HttpTarget, AnEscapeMayEndThePath) {
  EXPECT_THAT(parse_target("/%41")->segments, ElementsAre("A"));
}

TEST(HttpTarget, RefusesWhatIsNotEscapedPlainText) {
  for (const char* const bad : {"", "*", "http://host/", "/%", "/%4", "/%zz", "/%00", "/a%0d%0ab",
                                "/%ff", "/?a=%", "/?%ff=1", "/?a=%0a"}) {
    EXPECT_FALSE(parse_target(bad).ok()) << bad;
  }
}

TEST(HttpTarget, RefusesAParameterThatIsGivenTwice) {
  const auto target = parse_target("/?since=1&since=2");

  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.error().message, HasSubstr("'since' is given twice"));
}

TEST(HttpTarget, AnEscapedSegmentReadsBackAsItself) {
  const std::string odd = "a/b?c d%\xc3\xa9";

  const auto target = parse_target("/" + escaped_segment(odd));

  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->segments, ElementsAre(odd));
}

}  // namespace
}  // namespace rubato
