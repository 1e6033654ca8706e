#include "rubato/trace/formats/pai_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(PaiReader, RoundsSharesOfAGpuUp) {
  const TraceText trace =
      read_text("pai",
                "aa,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.3,50.0,MISC\n"
                "bb,worker,5.0,Failed,10,20.5,100,1,50.0,V100\n");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].name, "aa/tensorflow");
  EXPECT_EQ(trace.jobs[0].requested, 1);
  EXPECT_EQ(trace.jobs[0].arrival, second(1739162));
  EXPECT_EQ(trace.jobs[0].duration, std::chrono::seconds(38));
  EXPECT_EQ(trace.jobs[0].gpu_type, "");
  EXPECT_EQ(trace.jobs[1].requested, 3);
  EXPECT_EQ(trace.jobs[1].duration, from_seconds(10.5));
  EXPECT_EQ(trace.jobs[1].gpu_type, "V100");
}

TEST(PaiReader, AcceptsAHeaderThoughTheTableHasNone) {
  const TraceText trace =
      read_text("pai",
                "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,"
                "plan_gpu,gpu_type\naa,w,1,Terminated,1,2,3,4,100,T4\n");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_EQ(trace.jobs.size(), 1U);
}

TEST(PaiReader, SkipsTasksWithoutGpusOrWithoutAnEnd) {
  const TraceText trace = read_text("pai",
                                    "aa,ps,1,Terminated,1,2,3,4,,\n"
                                    "aa,ps,1,Terminated,1,2,3,4,0,\n"
                                    "aa,w,1,Running,1,,3,4,100,T4\n");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_TRUE(trace.jobs.empty());
  EXPECT_THAT(messages(trace),
              ElementsAre("trace:3: end_time: the task has not started or not ended (1 rows "
                          "skipped, this is the first)",
                          "trace:1: plan_gpu: the task uses no GPU (2 rows skipped, this is the "
                          "first)"));
}

TEST(PaiReader, ExplainsRowsThatCannotBe) {
  const TraceText trace = read_text("pai",
                                    "aa,w,1,Terminated,9,3,1,1,100,T4\n"
                                    "bb,w,1,Terminated\n"
                                    "cc,w,many,Terminated,1,3,1,1,100,T4\n");

  EXPECT_THAT(messages(trace),
              ElementsAre("trace:1: end_time: 3 is before start_time, which is 9",
                          "trace:2: found 4 fields, expected 10",
                          "trace:3: inst_num: found 'many', expected a whole number from 1 to "
                          "1048576"));
}

}  // namespace
}  // namespace rubato
