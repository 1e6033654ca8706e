#include "rubato/report/tournament_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/report/escape.h"
#include "rubato/report/html_page.h"
#include "rubato/report/markup_test.h"
#include "rubato/report/report_builder_test.h"
#include "rubato/report/table.h"

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<RunGroup> two_traces() {
  std::vector<RunGroup> groups;
  for (const char* trace : {"x.csv", kHostile}) {
    RunGroup group{.trace = trace};
    group.runs.push_back({.policy = "fifo", .summary = {.jobs = 4, .finished = 4}});
    group.runs.push_back({.policy = kHostile, .summary = {.jobs = 4, .finished = 2}});
    group.runs.push_back({.policy = "broken", .failure = kHostile});
    groups.push_back(group);
  }
  return groups;
}

std::string tournament_page(std::span<const RunGroup> groups) {
  auto html = tournament_html(plain_header(), groups);
  EXPECT_TRUE(html.ok());
  return html.ok() ? *html : "";
}

struct TournamentHtml : testing::Test {
  void SetUp() override {
    if (!can_write_html()) {
      GTEST_SKIP() << can_write_html().error().message;
    }
  }
};

TEST_F(TournamentHtml, HasBalancedTags) {
  EXPECT_EQ(unbalanced_tag(tournament_page(two_traces())), "");
  EXPECT_EQ(unbalanced_tag(tournament_page({})), "");
}

TEST_F(TournamentHtml, LoadsNothing) { EXPECT_EQ(outside_word(tournament_page(two_traces())), ""); }

TEST_F(TournamentHtml, NamesAndFailuresStayText) {
  const std::string html = tournament_page(two_traces());

  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(data_in(html)["comparison"]["groups"][0]["rows"][2]["failure"], kHostile);
}

TEST_F(TournamentHtml, HoldsAllGroups) {
  const auto data = data_in(tournament_page(two_traces()));

  EXPECT_EQ(data["kind"], "tournament");
  EXPECT_EQ(data["title"], "3 policies on 2 traces");
  ASSERT_EQ(data["comparison"]["groups"].size(), 3U);
  EXPECT_EQ(data["comparison"]["groups"][2]["title"], "all 2 traces, exact speeds");
  EXPECT_FALSE(data.contains("pictures"));
}

TEST_F(TournamentHtml, CanBeReadWithoutAScript) {
  std::vector<RunGroup> groups = two_traces();
  groups.pop_back();
  groups[0].runs.resize(1);

  EXPECT_THAT(between(tournament_page(groups), "<noscript>", "</noscript>"),
              HasSubstr(html_escaped(tournament_table(groups))));
}

}  // namespace
}  // namespace rubato
