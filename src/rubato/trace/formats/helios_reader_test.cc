#include "rubato/trace/formats/helios_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

const std::string kHeliosColumns =
    "job_id,user,vc,jobname,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
    "duration,queue\n";

TEST(HeliosReader, ReadsAJob) {
  const TraceText trace =
      read_text("helios", kHeliosColumns +
                              "17,u1,vcA,train,8,32,1,COMPLETED,2020-04-01 00:00:10,"
                              "2020-04-01 00:01:10,2020-04-01 01:01:10,3600,60\n");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 1U);
  const Job& job = trace.jobs[0];
  EXPECT_EQ(job.name, "17");
  EXPECT_EQ(job.tenant, "vcA");
  EXPECT_EQ(job.requested, 8);
  EXPECT_EQ(job.arrival, second(1585699210));
  EXPECT_EQ(job.duration, std::chrono::hours(1));
  EXPECT_EQ(job.job_class, JobClass::BestEffort);
  EXPECT_DOUBLE_EQ(job.work, 0);
}

TEST(HeliosReader, TheNameColumnMayBeMissingAsInThePublicFiles) {
  const TraceText trace =
      read_text("helios",
                "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
                "duration,queue\n1,u,v,2,1,1,FAILED,2020-04-01 00:00:10,,,5,0\n");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_EQ(trace.jobs.size(), 1U);
  EXPECT_TRUE(trace.diagnostics.empty());
}

TEST(HeliosReader, CountsTheJobsItSkips) {
  const TraceText trace =
      read_text("helios", kHeliosColumns +
                              "1,u,v,j,0,1,1,COMPLETED,2020-04-01 00:00:10,,,5,0\n"
                              "2,u,v,j,0,1,1,COMPLETED,2020-04-01 00:00:10,,,5,0\n"
                              "3,u,v,j,1,1,1,CANCELLED,2020-04-01 00:00:10,,,0,0\n");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_TRUE(trace.jobs.empty());
  EXPECT_THAT(
      messages(trace),
      ElementsAre("trace:4: duration: the job never ran (1 rows skipped, this is the first)",
                  "trace:2: gpu_num: the job uses no GPU (2 rows skipped, this is the first)"));
}

TEST(HeliosReader, ExplainsABadDate) {
  const TraceText trace =
      read_text("helios", kHeliosColumns + "1,u,v,j,1,1,1,X,2020-02-30 00:00:00,,,5,0\n");

  EXPECT_THAT(messages(trace), ElementsAre("trace:2: submit_time: found '2020-02-30 00:00:00', "
                                           "expected a date like 2017-10-07 01:11:39"));
}

}  // namespace
}  // namespace rubato
