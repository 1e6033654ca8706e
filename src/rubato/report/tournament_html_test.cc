#include "rubato/report/tournament_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/markup_test.h"
#include "rubato/report/report_builder_test.h"

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

TEST(TournamentHtml, HasBalancedTags) {
  EXPECT_EQ(unbalanced_tag(tournament_html(plain_header(), two_traces())), "");
  EXPECT_EQ(unbalanced_tag(tournament_html(plain_header(), {})), "");
}

TEST(TournamentHtml, LoadsNothing) {
  const std::string html = tournament_html(plain_header(), two_traces());

  for (const char* word : {"http:", "https:", "src=\"", "href=", "@import", "url(", "fetch(",
                           "XMLHttpRequest", "innerHTML", "eval("}) {
    EXPECT_THAT(html, Not(HasSubstr(word)));
  }
}

TEST(TournamentHtml, NamesAndFailuresStayText) {
  const std::string html = tournament_html(plain_header(), two_traces());

  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, HasSubstr("failed: &lt;/script&gt;"));
}

TEST(TournamentHtml, HasOneBodyForEachGroup) {
  const std::string html = tournament_html(plain_header(), two_traces());

  std::size_t bodies = 0;
  for (std::size_t at = html.find("<tbody>"); at != std::string::npos;
       at = html.find("<tbody>", at + 1)) {
    ++bodies;
  }
  EXPECT_EQ(bodies, 3U);
  EXPECT_THAT(html, HasSubstr("all 2 traces, exact speeds"));
}

TEST(TournamentHtml, DataHoldsNumbersOfThoseWhoDidNotFail) {
  const auto data = nlohmann::json::parse(tournament_data(two_traces()));

  ASSERT_EQ(data["groups"].size(), 3U);
  EXPECT_EQ(data["groups"][2]["relative"], true);
  EXPECT_EQ(data["groups"][0]["rows"].size(), 2U);
  EXPECT_EQ(data["groups"][0]["rows"][0]["cells"].size(), data["columns"].size());
  EXPECT_EQ(data["groups"][0]["rows"][1]["policy"], kHostile);
}

}  // namespace
}  // namespace rubato
