#include "rubato/trace/formats/auto_reader.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/formats/formats.h"
#include "rubato/trace/read/detect.h"
#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(DetectFormat, KnowsEveryFormatByItsFirstLine) {
  EXPECT_EQ(detect_format("job_id,submission_time,num_iteration,model_name,deadline,batch_size,"
                          "num_gpu,duration\n"),
            "elasticflow");
  EXPECT_EQ(detect_format("job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,"
                          "duration,best_effort\r\n"),
            "elasticflow");
  EXPECT_EQ(detect_format("[\n{\"status\""), "philly");
  EXPECT_EQ(detect_format("job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time"),
            "helios");
  EXPECT_EQ(detect_format("4f05,tensorflow,1.0,Terminated,1739162.0,,600.0,29.29,50.0,MISC\n"),
            "pai");
  EXPECT_EQ(detect_format("job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,"
                          "plan_mem,plan_gpu,gpu_type\n"),
            "pai");
  EXPECT_EQ(detect_format("name,time,application,num_replicas,batch_size\n"), "pollux");
  EXPECT_EQ(detect_format("LM (batch size 5)\tcmd\t-s\t1\t1\t0\t1\n"), "gavel");
  EXPECT_EQ(detect_format("; Version: 2.2\n"), "swf");
  EXPECT_EQ(detect_format("1 7 10 100 8 -1 -1 9 200 -1 1 3 1 4 1 1 -1 -1\n"), "swf");
  EXPECT_EQ(detect_format("{\n \"meta\": {"), "sacct");
  EXPECT_EQ(detect_format("{\"format\":\"rubato-trace/1\"}\n"), "rubato");
}

TEST(DetectFormat, DoesNotGuess) {
  EXPECT_EQ(detect_format(""), "");
  EXPECT_EQ(detect_format("hello, world\n"), "");
  EXPECT_EQ(detect_format("1 2 3\n"), "");
  EXPECT_EQ(detect_format("a,b,c,d,e,f,g,h,i,j\n"), "");
}

TEST(AutoReader, BecomesTheRightReaderWhateverTheChunks) {
  const std::string text =
      "\xEF\xBB\xBF\n\nname,time,application,num_replicas,batch_size\na,1,x,2,8\n";

  for (std::size_t chunk_bytes = 1; chunk_bytes <= text.size(); ++chunk_bytes) {
    const TraceText trace = read_text("auto", text, chunk_bytes);
    ASSERT_TRUE(trace.status.ok()) << chunk_bytes;
    EXPECT_THAT(trace.lines, ElementsAre(4U)) << "lines are counted from the start of the file";
  }
}

TEST(AutoReader, NamesTheFormatsWhenNoneFits) {
  EXPECT_THAT(messages(read_text("auto", "hello\n1\n2\n", 1)),
              ElementsAre("trace:1: the first line fits no known trace format; name it with "
                          "--format: elasticflow, philly, helios, pai, pollux, gavel, swf, sacct, "
                          "rubato"));
  EXPECT_THAT(messages(read_text("auto", " \n")), ElementsAre("trace: the trace is empty"));
}

TEST(AutoReader, HoldsNoMoreBackThanTheLimit) {
  const std::string endless(4 * kDetectBytesMax, 'x');

  const TraceText trace = read_text("auto", endless, 1000);

  EXPECT_FALSE(trace.status.ok());
  EXPECT_LT(trace.buffered_max, kDetectBytesMax + 1000);
}

TEST(Formats, AnUnknownNameGetsTheNearestOne) {
  const TraceText trace = read_text("elasticflwo", "");

  ASSERT_FALSE(trace.status.ok());
  EXPECT_EQ(trace.status.error().message,
            "format: found 'elasticflwo', expected one of auto, elasticflow, philly, helios, pai, "
            "pollux, gavel, swf, sacct, rubato; did you mean 'elasticflow'?");
}

}  // namespace
}  // namespace rubato
