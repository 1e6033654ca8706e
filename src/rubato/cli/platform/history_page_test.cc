#include "rubato/cli/platform/history_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::Not;

StaticFiles small_dashboard() {
  return {{"/",
           {.bytes = "<head>\n    <link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n"
                     "<link rel=\"stylesheet\" href=\"/app.css\"></head>"
                     "<script type=\"module\" src=\"/app.js\"></script>"}},
          {"/app.js", {.bytes = "run()"}},
          {"/app.css", {.bytes = "a{}"}}};
}

TEST(HistoryPage, HoldsStyleScriptAndAnswersAndAsksForNothing) {
  const auto page = history_page(small_dashboard(), {{"/v1/version", R"({"version":"1"})"}});

  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_THAT(*page, HasSubstr("<style>a{}</style>"));
  EXPECT_THAT(*page, HasSubstr("<script type=\"module\">run()</script>"));
  EXPECT_THAT(*page, HasSubstr(R"({"/v1/version":{"version":"1"}})"));
  EXPECT_THAT(*page, Not(HasSubstr("src=")));
  EXPECT_THAT(*page, Not(HasSubstr("href=")));
}

TEST(HistoryPage, TextOfUsersDoesNotEndTheScript) {
  const auto page =
      history_page(small_dashboard(), {{"/v1/jobs", R"({"name":"</script><script>bad()<!--"})"}});

  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, Not(HasSubstr("<script>bad")));
  EXPECT_THAT(*page, Not(HasSubstr("<!--")));
  EXPECT_THAT(*page, HasSubstr("\\u003c/script>"));
}

TEST(HistoryPage, MomentsAreSpreadOverAllOfTheHistory) {
  EXPECT_EQ(spread_places(5, 60), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(spread_places(101, 3), (std::vector<int>{0, 50, 100}));
  EXPECT_EQ(spread_places(7, 1), (std::vector<int>{6}));
  EXPECT_TRUE(spread_places(0, 60).empty());
  EXPECT_TRUE(spread_places(9, 0).empty());
}

TEST(HistoryPage, FailsWithoutADashboardOrWithAnAnswerThatIsNone) {
  EXPECT_FALSE(history_page({}, {}).ok());
  EXPECT_FALSE(history_page(small_dashboard(), {{"/v1/jobs", "nonsense"}}).ok());
}

}  // namespace
}  // namespace rubato
