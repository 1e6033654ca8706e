#include "rubato/report/html.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/html_data.h"
#include "rubato/report/markup_test.h"
#include "rubato/report/report_builder_test.h"

namespace rubato {
namespace {

const Topology kCluster = *Topology::parse("2x4");

// The text between two marks.
std::string between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t start = text.find(from) + from.size();
  return std::string(text.substr(start, text.find(to, start) - start));
}

struct HtmlReport : testing::Test {
  History history = two_jobs(std::string(kHostile));
  std::vector<RunReport> runs{
      {.policy = std::string(kHostile), .summary = summarize(history), .history = &history},
      {.policy = "without history", .summary = summarize(history)},
      {.policy = "fifo", .summary = summarize(history), .history = &history}};

  nlohmann::json data(const HtmlLimits& limits = {}) const {
    return nlohmann::json::parse(html_data(runs, kCluster, limits));
  }
};

TEST_F(HtmlReport, HasBalancedTags) {
  EXPECT_EQ(unbalanced_tag(html_report(plain_header(), runs, kCluster)), "");
  EXPECT_EQ(unbalanced_tag(html_report(plain_header(), {}, kCluster)), "");
}

TEST_F(HtmlReport, LoadsNothing) {
  const std::string html = html_report(plain_header(), runs, kCluster);

  for (const std::string_view word : {"http:", "https:", "src=\"", "href=", "@import", "url(",
                                      "fetch(", "XMLHttpRequest", "innerHTML", "eval("}) {
    EXPECT_EQ(html.find(word), std::string::npos) << word;
  }
}

TEST_F(HtmlReport, NamesStayText) {
  const std::string html = html_report(plain_header(), runs, kCluster);

  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_NE(html.find("&lt;/script&gt;"), std::string::npos);
}

TEST_F(HtmlReport, HoldsItsDataAsJson) {
  const std::string html = html_report(plain_header(), runs, kCluster);
  const auto block = nlohmann::json::parse(
      between(html, "<script type=\"application/json\" id=\"data\">", "</script>"));

  EXPECT_EQ(block, data());
  EXPECT_EQ(block["jobs"]["name"][1], kHostile);
  EXPECT_EQ(block["runs"][0]["policy"], kHostile);
}

TEST_F(HtmlReport, ShowsWhereTheNumbersComeFrom) {
  const std::string html = html_report(plain_header(), runs, kCluster);

  EXPECT_NE(html.find("rubato sim --trace t.csv"), std::string::npos);
  EXPECT_NE(html.find("speeds: measured"), std::string::npos);
  EXPECT_NE(html.find("<dt>seed</dt><dd>7</dd>"), std::string::npos);
}

TEST_F(HtmlReport, WithoutHistoriesIsATableOnly) {
  for (RunReport& run : runs) {
    run.history = nullptr;
  }

  const std::string html = html_report(plain_header(), runs, kCluster);

  EXPECT_NE(html.find("<table id=\"comparison\">"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
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

  const std::string html = html_report(plain_header(), runs, kCluster);

  EXPECT_LT(html.size(), 3'000'000U);
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
