#include "rubato/report/perfetto.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/report/report_builder_test.h"

namespace rubato {
namespace {

const Topology kClusterOfA100 = *Topology::parse("2x4:A100");

nlohmann::json events_of(std::span<const RunReport> runs) {
  return nlohmann::json::parse(perfetto_trace(runs, kClusterOfA100))["traceEvents"];
}

TEST(Perfetto, PutsEveryGpuOfABarOnItsTrack) {
  const History history = two_jobs("</script>\"\\");
  const std::vector<RunReport> runs{{.policy = "p", .history = &history}};

  std::map<std::pair<int, int>, std::vector<std::string>> slices;
  for (const auto& event : events_of(runs)) {
    if (event["ph"] == "X") {
      slices[{event["pid"], event["tid"]}].push_back(event["name"]);
    }
  }

  // Process 1 is the cluster; GPUs 2 and 3 are on the first node, 4 and 5 on the second.
  EXPECT_EQ((slices[{2, 3}]), std::vector<std::string>{"first"});
  EXPECT_EQ((slices[{3, 2}]), std::vector<std::string>{"first"});
  EXPECT_EQ((slices[{2, 1}]), std::vector<std::string>{"first"});
  EXPECT_EQ((slices[{3, 4}]), std::vector<std::string>{"</script>\"\\"});
  EXPECT_EQ(slices.size(), 6U);
}

TEST(Perfetto, SaysWhenAndHowWide) {
  const History history = two_jobs("second");
  const std::vector<RunReport> runs{{.policy = "p", .history = &history}};

  const auto events = events_of(runs);
  const auto first = std::ranges::find_if(events, [](const auto& e) { return e["ph"] == "X"; });

  ASSERT_NE(first, events.end());
  EXPECT_EQ((*first)["ts"], 0);
  EXPECT_EQ((*first)["dur"], 40'000'000);
  EXPECT_EQ((*first)["args"]["workers"], 4);
  EXPECT_EQ((*first)["args"]["deadline_us"], 80'000'000);
}

TEST(Perfetto, HasCountersAndDeadlines) {
  const History history = two_jobs("second");
  const std::vector<RunReport> runs{{.policy = "p", .history = &history}};

  std::vector<std::string> instants;
  std::vector<int> used;
  for (const auto& event : events_of(runs)) {
    if (event["ph"] == "i") {
      instants.push_back(event["name"]);
    } else if (event["ph"] == "C" && event["name"] == "GPUs in use") {
      used.push_back(event["args"]["GPUs"]);
    }
  }

  EXPECT_EQ(instants, (std::vector<std::string>{"met: first", "missed: second"}));
  EXPECT_EQ(used, (std::vector<int>{4, 2}));
}

TEST(Perfetto, GivesEachRunProcessesOfItsOwn) {
  const History history = two_jobs("second");
  const std::vector<RunReport> runs{{.policy = "a", .history = &history},
                                    {.policy = "none"},
                                    {.policy = "b", .history = &history}};

  std::map<int, std::string> names;
  for (const auto& event : events_of(runs)) {
    if (event["name"] == "process_name") {
      names[event["pid"]] = event["args"]["name"];
    }
  }

  EXPECT_EQ(names.size(), 6U);
  EXPECT_EQ(names[1], "a: cluster");
  EXPECT_EQ(names[2], "a: node 0 A100");
  EXPECT_EQ(names[4], "b: cluster");
}

TEST(Perfetto, ComesInPieces) {
  History history = two_jobs("second");
  history.use.resize(5000, history.use.back());
  const std::vector<RunReport> runs{{.policy = "p", .history = &history}};
  std::string joined;
  int pieces = 0;

  write_perfetto(runs, kClusterOfA100, [&](std::string_view piece) {
    joined += piece;
    ++pieces;
  });

  EXPECT_GT(pieces, 5);
  EXPECT_EQ(joined, perfetto_trace(runs, kClusterOfA100));
}

TEST(Perfetto, OfNothingIsStillJson) { EXPECT_TRUE(events_of({}).empty()); }

}  // namespace
}  // namespace rubato
