#include "rubato/trace/formats/pollux_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(PolluxReader, ReadsAWorkloadWithoutDurations) {
  const TraceText trace = read_text("pollux",
                                    "name,time,application,num_replicas,batch_size\n"
                                    "cifar10-0,107,cifar10,6,2048\n");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 1U);
  const Job& job = trace.jobs[0];
  EXPECT_EQ(job.name, "cifar10-0");
  EXPECT_EQ(job.arrival, second(107));
  EXPECT_EQ(job.model, "cifar10");
  EXPECT_EQ(job.requested, 6);
  EXPECT_EQ(job.batch, 2048);
  EXPECT_EQ(job.job_class, JobClass::BestEffort);
  EXPECT_DOUBLE_EQ(job.work, 0);
  EXPECT_EQ(job.duration, Duration{0});
}

TEST(PolluxReader, ReadsTheColumnsElasticFlowAdded) {
  const TraceText trace = read_text("pollux",
                                    "name,time,application,num_gpus,batch_size,ddl,max_sample\n"
                                    "a,1,x,2,8,100,4097\n");

  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].job_class, JobClass::Slo);
  EXPECT_EQ(trace.jobs[0].deadline, second(100));
  EXPECT_DOUBLE_EQ(trace.jobs[0].work, 513);
}

TEST(PolluxReader, ARigidJobRunsOnExactlyItsGpus) {
  const TraceText trace = read_text("pollux",
                                    "name,time,application,num_replicas,batch_size,category\n"
                                    "a,1,x,2,8,rigid\nb,1,x,2,8,adaptive\nc,1,x,2,8,ridgid\n");

  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_TRUE(trace.jobs[0].workers.allows(2));
  EXPECT_FALSE(trace.jobs[0].workers.allows(1));
  EXPECT_EQ(trace.jobs[1].workers, WorkerCounts{});
  EXPECT_THAT(messages(trace),
              ElementsAre("trace:4: category: found 'ridgid', expected one of adaptive, "
                          "scale-gpus, rigid; did you mean 'rigid'?"));
}

}  // namespace
}  // namespace rubato
