#include "rubato/report/html.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/comparison_data.h"
#include "rubato/report/escape.h"
#include "rubato/report/html_data.h"
#include "rubato/report/html_page.h"
#include "rubato/report/markup_test.h"
#include "rubato/report/report_builder_test.h"
#include "rubato/report/table.h"

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Topology kCluster = *Topology::parse("2x4");

struct HtmlReport : testing::Test {
  void SetUp() override {
    if (!can_write_html()) {
      GTEST_SKIP() << can_write_html().error().message;
    }
  }

  History history = two_jobs(std::string(kHostile));
  std::vector<RunReport> runs{
      {.policy = std::string(kHostile), .summary = summarize(history), .history = &history},
      {.policy = "without history", .summary = summarize(history)},
      {.policy = "fifo", .summary = summarize(history), .history = &history}};

  [[nodiscard]] std::string page() const {
    auto html = html_report(plain_header(), runs, kCluster);
    EXPECT_TRUE(html.ok());
    return html.ok() ? *html : "";
  }
  [[nodiscard]] nlohmann::json data(const HtmlLimits& limits = {}) const {
    return nlohmann::json::parse(html_data(runs, kCluster, limits));
  }
};

TEST_F(HtmlReport, HasBalancedTags) {
  EXPECT_EQ(unbalanced_tag(page()), "");
  runs.clear();
  EXPECT_EQ(unbalanced_tag(page()), "");
}

TEST_F(HtmlReport, LoadsNothing) { EXPECT_EQ(outside_word(page()), ""); }

TEST_F(HtmlReport, LetsNoOtherScriptRun) {
  const std::string policy =
      between(page(), "http-equiv=\"Content-Security-Policy\" content=\"", "\"");

  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

TEST_F(HtmlReport, NamesStayText) {
  const std::string html = page();

  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("&lt;/script&gt;"));
}

TEST_F(HtmlReport, HoldsItsDataAsJson) {
  const auto block = data_in(page());

  EXPECT_EQ(block["kind"], "comparison");
  EXPECT_EQ(block["title"], "3 policies compared");
  EXPECT_EQ(block["pictures"], data());
  EXPECT_EQ(block["comparison"],
            nlohmann::json::parse(comparison_data(compare(runs, Detail::Full))));
  EXPECT_EQ(block["pictures"]["jobs"]["name"][1], kHostile);
  EXPECT_EQ(block["pictures"]["runs"][0]["policy"], kHostile);
  EXPECT_EQ(block["comparison"]["groups"][0]["rows"][0]["policy"], kHostile);
}

TEST_F(HtmlReport, ShowsWhereTheNumbersComeFrom) {
  const auto block = data_in(page());

  EXPECT_EQ(block["command"], "rubato sim --trace t.csv");
  EXPECT_EQ(block["provenance"], nlohmann::json::parse(R"(["speeds: measured"])"));
  EXPECT_EQ(block["facts"],
            nlohmann::json::parse(R"([["trace","t.csv"],["jobs","2"],["cluster","2x4"],
                                      ["seed","7"],["resize cost","none"],["slot","1 min"],
                                      ["version","0.1.0"]])"));
}

TEST_F(HtmlReport, CanBeReadWithoutAScript) {
  runs.erase(runs.begin());

  const std::string text = between(page(), "<noscript>", "</noscript>");

  EXPECT_THAT(text, HasSubstr(html_escaped(table_report(runs))));
}

TEST_F(HtmlReport, WithoutHistoriesIsATableOnly) {
  for (RunReport& run : runs) {
    run.history = nullptr;
  }

  const auto block = data_in(page());

  EXPECT_EQ(block["comparison"]["groups"][0]["rows"].size(), 3U);
  EXPECT_FALSE(block.contains("pictures"));
}

TEST(HtmlPage, FailsWithoutADocument) {
  const auto page = html_page(HtmlDocument{}, plain_header(), {.kind = "comparison"});

  ASSERT_FALSE(page.ok());
  EXPECT_THAT(page.error().message, HasSubstr("RUBATO_WEB=OFF"));
}

TEST(HtmlPage, PutsTitleTextAndDataInTheirPlaces) {
  const HtmlDocument document{.to_title = "1", .to_text = "|2", .to_data = "|3", .to_end = "|4"};

  const auto page = html_page(document, {.trace = "<a>", .cluster = "{data}"},
                              {.kind = "k", .comparison = "{}", .text = "a < b"});

  ASSERT_TRUE(page.ok());
  EXPECT_EQ(*page,
            "1Rubato: &lt;a&gt; on {data}|2a &lt; b|3"
            R"({"kind":"k","title":"","facts":[["trace","\u003ca\u003e"],["cluster","{data}"],)"
            R"(["seed","0"]],"command":"","provenance":[],"comparison":{}}|4)");
}

TEST_F(HtmlReport, DataCountsTimeInTicks) {
  const auto block = data();

  EXPECT_EQ(block["tick"], 0.001);
  EXPECT_EQ(block["span"], 100'000);
  EXPECT_EQ(block["gpus"], 8);
  EXPECT_EQ(block["nodes"][1], nlohmann::json::parse(R"(["node 1",4,4])"));
  EXPECT_EQ(block["jobs"]["deadline"], nlohmann::json::parse("[80000,90000]"));
  ASSERT_EQ(block["runs"].size(), 2U);
  EXPECT_EQ(block["runs"][1]["row"], 2);
  EXPECT_EQ(block["runs"][0]["promised"], nlohmann::json::parse("[80000,-1]"));
  EXPECT_EQ(block["runs"][0]["finish"], nlohmann::json::parse("[60000,100000]"));
  EXPECT_EQ(block["runs"][0]["met"].back(), 1);
  EXPECT_EQ(block["runs"][0]["due"].back(), 2);
  // Job, step from the start before, length, first GPU, GPUs.
  EXPECT_EQ(block["runs"][0]["rects"],
            nlohmann::json::parse("[0,0,40000,2,4, 0,40000,20000,0,1, 1,0,60000,7,1]"));
}

TEST_F(HtmlReport, RoundingMakesNoLateJobPunctual) {
  history.end = at_seconds(1e7);  // Ten seconds a tick.
  history.jobs[0].finish = history.jobs[0].promised + from_seconds(1);
  history.jobs[1].finish = history.jobs[1].deadline - from_seconds(1);

  const auto block = data();

  EXPECT_EQ(block["tick"], 10);
  EXPECT_EQ(block["runs"][0]["promised"][0], 8);
  EXPECT_EQ(block["runs"][0]["finish"], nlohmann::json::parse("[9,9]"));
  EXPECT_EQ(block["jobs"]["deadline"], nlohmann::json::parse("[8,9]"));
}

TEST_F(HtmlReport, StaysSmallWhateverTheRunsAre) {
  History large{.end = at_seconds(1e6)};
  for (std::uint64_t id = 0; id < 8'000; ++id) {
    JobRecord job = finished_job(id, static_cast<double>(id), static_cast<double>(id) + 50'000.5);
    job.deadline = job.promised = job.finish;
    large.jobs.push_back(job);
    large.names.emplace_back(200, 'x');
    for (int bar = 0; bar < 5; ++bar) {
      const Instant from = job.arrival + from_seconds(bar * 1000);
      large.bars.push_back({.job = job.id,
                            .from = from,
                            .to = from + from_seconds(900),
                            .placement = {.ranges = {{.first = 3, .count = 5}}}});
    }
  }
  for (RunReport& run : runs) {
    run.history = &large;
  }
  runs.insert(runs.end(), 3, runs[0]);

  EXPECT_LT(page().size(), 3'000'000U);
}

TEST_F(HtmlReport, ThinsJobsEvenlyButKeepsTheirBars) {
  const auto block = data({.job_cells = 4});
  EXPECT_EQ(block["jobs"]["name"].size(), 2U);

  history.jobs.push_back(finished_job(3, 0, 5));
  history.names.emplace_back("third");
  const auto thinned = data({.job_cells = 4});

  EXPECT_EQ(thinned["jobs"]["name"], (std::vector<std::string>{"first", "third"}));
  EXPECT_EQ(thinned["runs"][0]["rects"].size(), 15U);
  EXPECT_EQ(thinned["runs"][0]["rects"][10], 2);  // Not described, hence after those that are.
}

}  // namespace
}  // namespace rubato
