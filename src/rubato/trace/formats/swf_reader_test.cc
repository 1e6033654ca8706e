#include "rubato/trace/formats/swf_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(SwfReader, ReadsRowsBetweenComments) {
  const TraceText trace = read_text("swf",
                                    "; Version: 2.2\n; UnixStartTime: 1700000000\n"
                                    "1 7 10 100 8 -1 -1 9 200 -1 1 3 1 4 1 1 -1 -1\n"
                                    ";\n"
                                    "  2   9 0 50 -1 -1 -1 4 60 -1 1 -1 1 -1 1 1 -1 -1\n");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].name, "1");
  EXPECT_EQ(trace.jobs[0].arrival, second(7));
  EXPECT_EQ(trace.jobs[0].duration, std::chrono::seconds(100));
  EXPECT_EQ(trace.jobs[0].requested, 8);
  EXPECT_EQ(trace.jobs[0].tenant, "user-3");
  EXPECT_EQ(trace.jobs[0].model, "app-4");
  EXPECT_EQ(trace.jobs[1].requested, 4) << "what was asked for, since nothing is known of the rest";
  EXPECT_EQ(trace.jobs[1].tenant, "");
  EXPECT_THAT(trace.lines, ElementsAre(3U, 5U));
}

TEST(SwfReader, SkipsJobsThatNeverRan) {
  const TraceText trace = read_text("swf",
                                    "1 7 10 -1 8 -1 -1 9 200 -1 5 3 1 4 1 1 -1 -1\n"
                                    "2 7 10 0 8 -1 -1 9 200 -1 5 3 1 4 1 1 -1 -1\n"
                                    "3 7 10 5 -1 -1 -1 -1 200 -1 1 3 1 4 1 1 -1 -1\n");

  EXPECT_TRUE(trace.status.ok());
  EXPECT_THAT(messages(trace),
              ElementsAre("trace:3: requested_processors: the job has no known number of "
                          "processors (1 rows skipped, this is the first)",
                          "trace:1: run_time: the job never ran (2 rows skipped, this is the "
                          "first)"));
}

TEST(SwfReader, ExplainsBadRows) {
  const TraceText trace = read_text("swf",
                                    "1 7 10\n"
                                    "2 x 10 5 8 -1 -1 9 200 -1 5 3 1 4 1 1 -1 -1\n");

  EXPECT_THAT(messages(trace),
              ElementsAre("trace:1: found 3 fields, expected 18",
                          "trace:2: submit_time: found 'x', expected seconds, zero or more"));
}

}  // namespace
}  // namespace rubato
