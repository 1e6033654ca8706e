#include "rubato/report/comparison_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/standings.h"

namespace rubato {
namespace {

nlohmann::json parsed(const Comparison& comparison) {
  return nlohmann::json::parse(comparison_data(comparison));
}

TEST(ComparisonData, SaysWhatEachCellIs) {
  const Comparison comparison{
      .columns = {{.group = "JCT", .title = "avg", .unit = "h", .better = Better::Lower}},
      .groups = {
          {.rows = {{.policy = "best", .cells = {{.value = 3600, .text = "1.0", .is_best = true}}},
                    {.policy = "apart",
                     .cells = {{.is_comparable = false,
                                .value = 7200,
                                .text = "2.0",
                                .half_width = 360,
                                .plus_minus = "0.1"}}},
                    {.policy = "unknown", .cells = {{.is_known = false, .text = "-"}}},
                    {.policy = "failed", .failure = "no speeds"}}}}};

  const auto rows = parsed(comparison)["groups"][0]["rows"];

  EXPECT_EQ(rows, nlohmann::json::parse(R"([
    {"policy":"best","cells":[{"value":3600,"text":"1.0","best":true}]},
    {"policy":"apart","cells":[{"value":7200,"text":"2.0","half":360,"plus_minus":"0.1",
                                "apart":true}]},
    {"policy":"unknown","cells":[null]},
    {"policy":"failed","failure":"no speeds","cells":[]}])"));
}

TEST(ComparisonData, SaysWhichWayIsBetter) {
  const Comparison comparison{.columns = {{.title = "a", .better = Better::Higher},
                                          {.title = "b", .better = Better::Lower},
                                          {.title = "c", .meaning = "It is \"so\"."}},
                              .seeds = 3};

  const auto data = parsed(comparison);

  EXPECT_EQ(data["columns"][0]["better"], 1);
  EXPECT_EQ(data["columns"][1]["better"], -1);
  EXPECT_EQ(data["columns"][2]["better"], 0);
  EXPECT_EQ(data["columns"][2]["meaning"], "It is \"so\".");
  EXPECT_EQ(data["seeds"], 3);
  EXPECT_EQ(data["comparable_share"], kComparableShare);
}

TEST(ComparisonData, HasACellForEachColumnOfThoseWhoDidNotFail) {
  std::vector<RunGroup> groups;
  for (const char* trace : {"x", "y"}) {
    groups.push_back({.trace = trace,
                      .noise = 0.2,
                      .runs = {{.policy = "fifo", .summary = {.jobs = 4, .finished = 4}},
                               {.policy = "broken", .failure = "why"}}});
  }

  const auto data = parsed(tournament(groups, Detail::Full));

  ASSERT_EQ(data["groups"].size(), 3U);
  EXPECT_EQ(data["groups"][0]["relative"], false);
  EXPECT_EQ(data["groups"][2]["relative"], true);
  EXPECT_EQ(data["groups"][2]["noise"], 0.2);
  for (const auto& group : data["groups"]) {
    EXPECT_EQ(group["rows"][0]["cells"].size(), data["columns"].size());
    EXPECT_EQ(group["rows"][1]["cells"].size(), 0U);
  }
}

}  // namespace
}  // namespace rubato
