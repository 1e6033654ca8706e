#include "rubato/cli/train/train_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rubato {
namespace {

// A job that grew, and then lost a worker while it shrank.
JobTimeline timeline() {
  const auto ms = [](int count) { return Duration{count * 1000}; };
  return {.outcome = JobOutcome::Finished,
          .seed = 3,
          .steps = 316,
          .loss = 0.25,
          .parameter_hash = 0x47ba2cd1155554be,
          .total = ms(2300),
          .generations = {{.number = 1,
                           .cause = "resize to 1",
                           .members = {WorkerId{1}},
                           .published = ms(10),
                           .entered = ms(11),
                           .first_step = ms(16)},
                          {.number = 2,
                           .cause = "resize to 2",
                           .members = {WorkerId{1}, WorkerId{2}},
                           .ordered = ms(300),
                           .published = ms(650),
                           .entered = ms(700),
                           .first_step = ms(705),
                           .pause = ms(4),
                           .step = 51,
                           .received_bytes = 4096},
                          {.number = 3,
                           .is_forced = true,
                           .cause = "worker 1: ended by a signal: SIGKILL",
                           .members = {WorkerId{2}},
                           .ordered = ms(900),
                           .published = ms(900),
                           .pause = ms(0),
                           .step = 90,
                           .lost_steps = 2}},
          .workers = {{.worker = WorkerId{1},
                       .started = ms(1),
                       .warm = ms(9),
                       .ended = ms(899),
                       .cause = "ended by a signal: SIGKILL"}}};
}

TEST(TrainReport, IsATableForPeople) {
  EXPECT_EQ("\n" + timeline_table(timeline()), R"(
gen  cause                              workers   at step      pause   first step  lost
  1  resize to 1                              1         0     0.0 ms      0.016 s     0
  2  resize to 2                              2        51     4.0 ms      0.405 s     0
  3  worker 1: ended by a signal: SIGKI       1        90     0.0 ms   superseded     2
finished after 316 steps in 2.3 s, loss 0.2500, parameters 47ba2cd1155554be
)");
}

TEST(TrainReport, HasTheNamesThatScriptsRelyOn) {
  const auto json = nlohmann::json::parse(timeline_json(timeline()));

  EXPECT_EQ(json["outcome"], "finished");
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(json["reason"], "");
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["steps"], 316);
  EXPECT_EQ(json["parameter_hash"], "47ba2cd1155554be");
  EXPECT_EQ(json["hashes_agree"], true);
  EXPECT_EQ(json["total_seconds"], 2.3);
  ASSERT_EQ(json["generations"].size(), 3U);
  EXPECT_EQ(json["generations"][1]["members"], nlohmann::json::array({1, 2}));
  EXPECT_EQ(json["generations"][1]["first_step_latency_seconds"], 0.405);
  EXPECT_EQ(json["generations"][1]["pause_seconds"], 0.004);
  EXPECT_EQ(json["generations"][1]["received_bytes"], 4096);
  EXPECT_EQ(json["generations"][2]["forced"], true);
  EXPECT_EQ(json["generations"][2]["lost_steps"], 2);
  EXPECT_EQ(json["generations"][2]["first_step_latency_seconds"], -1) << "it never came";
  EXPECT_EQ(json["workers"][0]["cause"], "ended by a signal: SIGKILL");
  EXPECT_EQ(json["workers"][0]["ended_seconds"], 0.899);
}

TEST(TrainReport, NamesEveryOutcome) {
  const auto name = [](JobOutcome outcome) {
    return nlohmann::json::parse(timeline_json({.outcome = outcome}))["outcome"];
  };

  EXPECT_EQ(name(JobOutcome::Running), "running");
  EXPECT_EQ(name(JobOutcome::Failed), "failed");
  EXPECT_EQ(name(JobOutcome::Requeue), "requeue");
  EXPECT_EQ(name(JobOutcome::Refused), "refused");
  EXPECT_EQ(name(JobOutcome::Suspended), "suspended");
}

}  // namespace
}  // namespace rubato
