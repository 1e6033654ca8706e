#include "rubato/trace/formats/elasticflow_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"
#include "rubato/trace/text/problems.h"

namespace rubato {
namespace {

using testing::ElementsAre;

const std::string kElasticFlowColumns =
    "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort\n";

TraceText read_elasticflow(const std::string& text) { return read_text("elasticflow", text); }

TEST(ElasticFlowReader, ReadsTheReleasedSpelling) {
  const TraceText trace = read_elasticflow(
      "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
      "965d744f,1932025,45775,resnet50,1933904,256,64,2429");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 1U);
  const Job& job = trace.jobs[0];
  EXPECT_EQ(job.id, JobId{0});
  EXPECT_EQ(job.name, "965d744f");
  EXPECT_EQ(job.job_class, JobClass::Slo);
  EXPECT_EQ(job.arrival, second(1932025));
  EXPECT_EQ(job.deadline, second(1933904));
  EXPECT_DOUBLE_EQ(job.work, 45775);
  EXPECT_EQ(job.model, "resnet50");
  EXPECT_EQ(job.batch, 256);
  EXPECT_EQ(job.requested, 64);
  EXPECT_EQ(job.duration, std::chrono::seconds(2429));
  EXPECT_THAT(trace.lines, ElementsAre(2U));
}

TEST(ElasticFlowReader, ABestEffortJobHasNoDeadlineButKeepsTheRest) {
  const TraceText trace =
      read_elasticflow(kElasticFlowColumns + "0,129,3877,inception3,849,64,1,804,1\n");

  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].job_class, JobClass::BestEffort);
  EXPECT_FALSE(trace.jobs[0].has_deadline());
  EXPECT_EQ(trace.jobs[0].duration, std::chrono::seconds(804));
}

TEST(ElasticFlowReader, KeepsFileOrderAndNumbersIt) {
  const TraceText trace =
      read_elasticflow(kElasticFlowColumns + "b,9,1,m,99,1,1,1,0\na,5,1,m,99,1,1,1,0\n");

  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].name, "b");
  EXPECT_EQ(trace.jobs[1].id, JobId{1});
}

TEST(ElasticFlowReader, ExplainsEveryBadFieldOfARow) {
  const TraceText trace =
      read_elasticflow(kElasticFlowColumns + "0,-1,x,m,1e12,1.5,0,,2\n1,2,3\n2,2,3,m,9,1,1,1,0\n");

  EXPECT_FALSE(trace.status.ok());
  EXPECT_EQ(trace.status.error().message,
            "trace:2: submission_time: found '-1', expected seconds, zero or more (and 7 more)");
  EXPECT_THAT(
      messages(trace),
      ElementsAre(
          "trace:2: submission_time: found '-1', expected seconds, zero or more",
          "trace:2: num_iteration: found 'x', expected a number from 0 to 1e+18",
          "trace:2: batch_size: found '1.5', expected a whole number from 0 to 2147483647",
          "trace:2: num_gpu: found '0', expected a whole number from 1 to 1048576",
          "trace:2: duration: found nothing, expected seconds, zero or more",
          "trace:2: best_effort: found '2', expected a whole number from 0 to 1",
          "trace:2: deadline: found '1e12', expected seconds up to 4000000000; it looks like "
          "milliseconds: divide by 1000",
          "trace:3: found 3 fields, the header has 9"));
  EXPECT_EQ(trace.jobs.size(), 1U) << "rows after a bad one are still read";
}

TEST(ElasticFlowReader, SuggestsTheColumnThatWasMeant) {
  const TraceText trace = read_elasticflow(
      "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpus,duration\n"
      "0,1,2,m,4,5,6,7\n");

  EXPECT_THAT(messages(trace),
              ElementsAre("trace:1: num_gpu: the header has no such column; did you mean "
                          "'num_gpus'?",
                          "trace:1: 'num_gpus': unknown column, ignored; did you mean 'num_gpu'?"));
  EXPECT_TRUE(trace.jobs.empty());
}

TEST(ElasticFlowReader, StopsAtTheHundredthError) {
  std::string text = kElasticFlowColumns;
  for (int i = 0; i < 500; ++i) {
    text += "broken row\n";
  }
  text += "0,1,1,m,99,1,1,1,0\n";

  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{1} << 20U}) {
    const TraceText trace = read_text("elasticflow", text, chunk_bytes);
    EXPECT_EQ(trace.diagnostics.size(), kErrorsMax);
    EXPECT_TRUE(trace.jobs.empty());
    EXPECT_EQ(trace.diagnostics.back().message,
              "found 1 fields, the header has 9 (error 100: reading stops here)");
  }
}

TEST(ElasticFlowReader, AnEmptyTraceIsAnErrorAndAHeaderAloneIsNot) {
  EXPECT_THAT(messages(read_elasticflow("")),
              ElementsAre("trace: found no rows, expected a header line and one row for each job"));
  EXPECT_TRUE(read_elasticflow(kElasticFlowColumns).status.ok());
}

}  // namespace
}  // namespace rubato
