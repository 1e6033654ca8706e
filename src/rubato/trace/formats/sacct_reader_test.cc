#include "rubato/trace/formats/sacct_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(SacctReader, ReadsPlainNumbers) {
  const TraceText trace = read_text("sacct", R"({"meta":{},"jobs":[
{"job_id":12,"account":"lab","state":{"current":["COMPLETED"]},
 "time":{"submission":1700000000,"start":1700000010,"end":1700000110},
 "tres":{"allocated":[{"type":"cpu","name":"","count":8},{"type":"gres","name":"gpu","count":4},
                      {"type":"gres","name":"gpu:a100","count":4}]}}]})");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 1U);
  const Job& job = trace.jobs[0];
  EXPECT_EQ(job.name, "12");
  EXPECT_EQ(job.tenant, "lab");
  EXPECT_EQ(job.arrival, second(1700000000));
  EXPECT_EQ(job.duration, std::chrono::seconds(100));
  EXPECT_EQ(job.requested, 4);
  EXPECT_EQ(job.gpu_type, "a100");
}

TEST(SacctReader, ReadsTheNumberObjectsOfNewerVersions) {
  const TraceText trace = read_text("sacct", R"({"jobs":[
{"job_id":1,"time":{"submission":{"set":true,"number":100},"start":{"set":true,"number":110},
 "end":{"set":true,"number":115}},
 "tres":{"allocated":[],"requested":[{"type":"gres","name":"gpu","count":{"set":true,"number":2}}]}}
]})");

  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].arrival, second(100));
  EXPECT_EQ(trace.jobs[0].requested, 2);
  EXPECT_EQ(trace.jobs[0].duration, std::chrono::seconds(5));
}

TEST(SacctReader, SkipsWhatIsNoFinishedGpuJob) {
  const TraceText trace = read_text("sacct", R"({"jobs":[
{"job_id":1,"time":{"submission":100,"start":110,"end":115},"tres":{"allocated":[]}},
{"job_id":2,"time":{"submission":100,"start":110,"end":0},
 "tres":{"requested":[{"type":"gres","name":"gpu","count":1}]}}]})");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_THAT(
      messages(trace),
      ElementsAre("trace:3: time: the job has not started or not ended (1 rows skipped, "
                  "this is the first)",
                  "trace:2: tres: the job uses no GPU (1 rows skipped, this is the first)"));
}

TEST(SacctReader, ExplainsWhatIsMissing) {
  EXPECT_THAT(messages(read_text("sacct", R"({"errors":[]})")),
              ElementsAre("trace:1: found no list 'jobs'"));
  EXPECT_THAT(messages(read_text("sacct", R"({"jobs":[{"job_id":1}]})")),
              ElementsAre("trace:1: time.submission: found -1, expected Unix seconds"));
}

}  // namespace
}  // namespace rubato
