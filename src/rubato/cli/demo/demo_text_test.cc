#include "rubato/cli/demo/demo_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/cli/demo/demo_screen.h"
#include "rubato/cli/text/moment_text.h"

namespace rubato {
namespace {

const Instant kDemoBegin{std::chrono::seconds(1'000'000)};

Instant after(double seconds) { return kDemoBegin + from_seconds(seconds); }

wire::JobStatus demo_job(const std::string& name, const std::string& state) {
  wire::JobStatus job;
  job.set_id("1");
  job.mutable_spec()->set_name(name);
  job.set_state(state);
  job.set_steps_total(100);
  *job.mutable_submitted() = timestamp_from(kDemoBegin);
  return job;
}

wire::JobStatus promised_job(double promised, double finished) {
  wire::JobStatus job = demo_job("promised", "SUCCEEDED");
  *job.mutable_deadline() = timestamp_from(after(promised));
  *job.mutable_promised() = timestamp_from(after(promised));
  *job.mutable_finished() = timestamp_from(after(finished));
  job.set_missed(finished > promised);
  return job;
}

TEST(DemoText, ShowsWorkersProgressAndWhatIsPromised) {
  wire::JobList list;
  wire::JobStatus& job = *list.add_jobs();
  job = demo_job("images", "RUNNING");
  job.set_workers(3);
  job.set_steps_done(40);
  *job.mutable_promised() = timestamp_from(after(60));
  *job.mutable_eta() = timestamp_from(after(45));
  const std::string table = demo_table(list, after(5), false);
  EXPECT_THAT(table, testing::HasSubstr("■■■"));
  EXPECT_THAT(table, testing::HasSubstr("40 %"));
  EXPECT_THAT(table, testing::HasSubstr("in 40 s"));
  EXPECT_THAT(table, testing::HasSubstr("in 55 s"));
}

TEST(DemoText, CountsAPromiseAsKeptOnlyIfTheJobSucceededInTime) {
  wire::JobList list;
  *list.add_jobs() = promised_job(60, 42.5);
  *list.add_jobs() = demo_job("free", "SUCCEEDED");
  EXPECT_EQ(count_promises(list).kept, 1);
  EXPECT_EQ(count_promises(list).broken, 0);
  EXPECT_THAT(promise_table(list), testing::HasSubstr("kept, 17.5 s to spare"));
  *list.add_jobs() = promised_job(60, 61);
  *list.add_jobs() = promised_job(60, 20);
  list.mutable_jobs(3)->set_state("FAILED");
  EXPECT_EQ(count_promises(list).kept, 1);
  EXPECT_EQ(count_promises(list).broken, 2);
  EXPECT_THAT(promise_table(list), testing::HasSubstr("BROKEN by 1.0 s"));
}

TEST(DemoText, TellsOfALostWorkerBeforeAnythingElse) {
  wire::JobStatus before = demo_job("images", "RUNNING");
  before.set_workers(2);
  wire::JobStatus now = before;
  EXPECT_EQ(demo_change(before, now), "");
  now.set_workers(1);
  EXPECT_EQ(demo_change(before, now), "2 -> 1 workers");
  now.set_restarts(1);
  now.set_steps_done(17);
  EXPECT_EQ(demo_change(before, now), "a worker is gone; the others go on from step 17");
}

TEST(DemoScreen, CutsLinesByLettersAndKeepsColours) {
  EXPECT_EQ(cut_to_width("abcdef", 4), "abcd");
  EXPECT_EQ(cut_to_width("■■■x", 2), "■■");
  EXPECT_EQ(cut_to_width("\x1b[32mabc\x1b[0m", 2), "\x1b[32mab\x1b[0m");
}

}  // namespace
}  // namespace rubato
