#include "rubato/trace/formats/philly_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(PhillyReader, AddsUpTheAttemptsOfAJob) {
  const TraceText trace = read_text("philly", R"([
  {"status":"Pass","vc":"ee9e8c","jobid":"application_1","user":"ce2f4c",
   "submitted_time":"2017-10-07 01:11:39",
   "attempts":[
     {"start_time":"2017-10-07 01:12:09","end_time":"2017-10-07 01:13:09",
      "detail":[{"ip":"m47","gpus":["gpu0","gpu1"]}]},
     {"start_time":"2017-10-07 02:00:00","end_time":"2017-10-07 03:00:00",
      "detail":[{"ip":"m1","gpus":["gpu0","gpu1"]},{"ip":"m2","gpus":["gpu0","gpu1"]}]}]}
])");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 1U);
  const Job& job = trace.jobs[0];
  EXPECT_EQ(job.name, "application_1");
  EXPECT_EQ(job.tenant, "ee9e8c");
  EXPECT_EQ(job.arrival, second(1507338699));
  EXPECT_EQ(job.requested, 4);
  EXPECT_EQ(job.duration, std::chrono::seconds(3660));
  EXPECT_EQ(job.job_class, JobClass::BestEffort);
  EXPECT_THAT(trace.lines, ElementsAre(2U));
}

TEST(PhillyReader, SkipsJobsThatNeverRanOrStillRun) {
  const TraceText trace = read_text("philly", R"([
{"jobid":"a","submitted_time":"2017-10-07 01:11:39","attempts":[]},
{"jobid":"b","submitted_time":"2017-10-07 01:11:39","attempts":[
  {"start_time":"2017-10-07 01:12:09","end_time":null,"detail":[{"ip":"m","gpus":["gpu0"]}]}]},
{"jobid":"c","submitted_time":"2017-10-07 01:11:39","attempts":[
  {"start_time":"2017-10-07 01:12:09","end_time":"2017-10-07 01:12:10","detail":[]}]}])");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_TRUE(trace.jobs.empty());
  EXPECT_THAT(messages(trace),
              ElementsAre("trace:2: attempts: the job never ran or was still running (2 rows "
                          "skipped, this is the first)",
                          "trace:5: attempts: the job uses no GPU (1 rows skipped, this is the "
                          "first)"));
}

TEST(PhillyReader, ExplainsRecordsThatCannotBe) {
  const TraceText trace = read_text("philly", R"([{"submitted_time":"None","attempts":[]},
{"submitted_time":"2017-10-07 01:11:39","attempts":3},
{"jobid" 7},
{"jobid":"cut)");

  EXPECT_THAT(
      messages(trace),
      ElementsAre("trace:1: submitted_time: found 'None', expected a date like 2017-10-07 01:11:39",
                  "trace:2: attempts: expected a list",
                  "trace:3: found '{\"jobid\" 7}', expected one JSON object for a job",
                  "trace:4: the text ends inside a JSON value: the file was cut off"));
}

}  // namespace
}  // namespace rubato
