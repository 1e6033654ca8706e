#include "rubato/trace/formats/gavel_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(GavelReader, ReadsAllFourLayouts) {
  for (const char* row :
       {"LM (batch size 80)\tcmd\t--steps\t1\t100\t12.5\t4\n",
        "LM (batch size 80)\tcmd\t--steps\t1\t100\t4\t1.0\t-1.0\t12.5\n",
        "LM (batch size 80)\tcmd\tdir\t--steps\t1\t100\t4\t1.0\t-1.0\t12.5\n",
        "LM (batch size 80)\tcmd\tdir\t--steps\t1\t100\t4\tstatic\t1\t-1\t12.5"}) {
    const TraceText trace = read_text("gavel", row);

    ASSERT_EQ(trace.jobs.size(), 1U) << row;
    const Job& job = trace.jobs[0];
    EXPECT_EQ(job.model, "LM") << row;
    EXPECT_EQ(job.batch, 80) << row;
    EXPECT_DOUBLE_EQ(job.work, 100) << row;
    EXPECT_EQ(job.requested, 4) << row;
    EXPECT_EQ(job.arrival, second(12.5)) << row;
    EXPECT_EQ(job.job_class, JobClass::BestEffort) << row;
    EXPECT_TRUE(trace.diagnostics.empty()) << row;
  }
}

TEST(GavelReader, ATypeWithoutABatchIsTheModel) {
  const TraceText trace = read_text("gavel", "A3C\tcmd\t--max-steps\t0\t3\t1\t2.5\t-1\t7\n");

  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].model, "A3C");
  EXPECT_EQ(trace.jobs[0].batch, 0);
  EXPECT_DOUBLE_EQ(trace.jobs[0].weight, 2.5);
}

TEST(GavelReader, SaysOnceThatAnSloIsNoDeadline) {
  const TraceText trace = read_text("gavel",
                                    "A3C\tcmd\t-s\t0\t3\t1\t1\t1.2\t7\n"
                                    "A3C\tcmd\t-s\t0\t3\t1\t1\t2.0\t8\n");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_EQ(trace.jobs.size(), 2U);
  EXPECT_THAT(messages(trace), ElementsAre("trace:1: SLO: is a multiple of a duration the trace "
                                           "does not have: no deadline is set"));
}

TEST(GavelReader, ExplainsBadRows) {
  const TraceText trace = read_text("gavel",
                                    "LM (batch size x)\tcmd\t-s\t1\t1\t0\t1\n"
                                    "LM\tcmd\n"
                                    "LM\tcmd\t-s\t1\t1\t0\tfour\n");

  EXPECT_THAT(messages(trace),
              ElementsAre("trace:1: job_type: found 'LM (batch size x)', expected a type like 'LM "
                          "(batch size 80)'",
                          "trace:2: found 2 fields, expected 11",
                          "trace:3: scale_factor: found 'four', expected a whole number from 1 to "
                          "1048576"));
}

}  // namespace
}  // namespace rubato
