#include "rubato/trace/write/elasticflow_writer.h"

#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

Job sample() {
  return {.name = "a",
          .arrival = second(10),
          .deadline = second(99.5),
          .work = 1000,
          .model = "bert",
          .batch = 64,
          .requested = 4,
          .duration = std::chrono::seconds(60)};
}

TEST(ElasticFlowWriter, WritesTheColumnsTheArtifactReads) {
  EXPECT_EQ(elasticflow_job_line(sample()), "a,10,1000,bert,99.5,64,4,60,0\n");
}

TEST(ElasticFlowWriter, WhatItWritesReadsBack) {
  Job best_effort = sample();
  best_effort.name = "with, comma and \"quote\"";
  best_effort.job_class = JobClass::BestEffort;
  best_effort.deadline = kNever;

  const TraceText trace =
      read_text("auto", elasticflow_header_line() + elasticflow_job_line(sample()) +
                            elasticflow_job_line(best_effort));

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].deadline, second(99.5));
  EXPECT_EQ(trace.jobs[1].name, "with, comma and \"quote\"");
  EXPECT_EQ(trace.jobs[1].job_class, JobClass::BestEffort);
  EXPECT_TRUE(fits_elasticflow(trace.jobs[0]));
  EXPECT_TRUE(fits_elasticflow(trace.jobs[1]));
}

TEST(ElasticFlowWriter, KnowsWhatTheFormatCannotHold) {
  Job job = sample();
  job.tenant = "t";
  EXPECT_FALSE(fits_elasticflow(job));

  job = sample();
  job.job_class = JobClass::Soft;
  EXPECT_FALSE(fits_elasticflow(job));

  job = sample();
  job.weight = 2;
  EXPECT_FALSE(fits_elasticflow(job));
}

TEST(ElasticFlowWriter, AJobWithoutANameGetsItsNumber) {
  Job job = sample();
  job.name = "";
  job.id = JobId{5};

  EXPECT_EQ(elasticflow_job_line(job).substr(0, 2), "5,");
}

}  // namespace
}  // namespace rubato
