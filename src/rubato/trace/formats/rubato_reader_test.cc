#include "rubato/trace/formats/rubato_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;

const std::string kRubatoHeader = "{\"format\":\"rubato-trace/2\"}\n";

TraceText read_rubato(const std::string& jobs) { return read_text("rubato", kRubatoHeader + jobs); }

TEST(RubatoReader, OnlyTheArrivalIsRequired) {
  const TraceText trace = read_rubato("{\"arrival\":1.5}\n\n{\"arrival\":2,\"deadline\":9}\n");

  ASSERT_TRUE(trace.status.ok());
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].arrival, second(1.5));
  EXPECT_EQ(trace.jobs[0].job_class, JobClass::BestEffort);
  EXPECT_EQ(trace.jobs[0].requested, 1);
  EXPECT_EQ(trace.jobs[1].id, JobId{1});
  EXPECT_EQ(trace.jobs[1].job_class, JobClass::Slo);
  EXPECT_THAT(trace.lines, ElementsAre(2U, 4U));
}

TEST(RubatoReader, ReadsEveryField) {
  const TraceText trace = read_rubato(
      R"({"id":7,"name":"n","tenant":"t","class":"soft","arrival":1,"deadline":5,"work":2.5,)"
      R"("model":"m","batch":8,"requested":4,"duration":3,)"
      R"("workers":{"min":2,"max":8,"listed":[2,4,8]},"gpu_type":"A100","region":"west",)"
      R"("data_gb":12.5,"weight":0.5,)"
      R"("value":{"kind":"steps","amount":3,"decay":0.5,"knee":7,)"
      R"("steps":[{"within":1,"amount":9},{"within":2,"amount":3}]},)"
      R"("speeds":[[1,10.0],[2,19]]})");

  ASSERT_TRUE(trace.status.ok());
  const Job& job = trace.jobs.at(0);
  EXPECT_EQ(job.id, JobId{7});
  EXPECT_EQ(job.tenant, "t");
  EXPECT_EQ(job.job_class, JobClass::Soft);
  EXPECT_EQ(job.workers, (WorkerCounts{.min = 2, .max = 8, .listed = {2, 4, 8}}));
  EXPECT_EQ(job.gpu_type, "A100");
  EXPECT_EQ(job.region, "west");
  EXPECT_DOUBLE_EQ(job.data_gb, 12.5);
  EXPECT_DOUBLE_EQ(job.weight, 0.5);
  EXPECT_EQ(job.value.kind, ValueKind::Steps);
  EXPECT_EQ(job.value.knee, std::chrono::seconds(7));
  EXPECT_EQ(job.value.steps.size(), 2U);
  EXPECT_EQ(job.speeds, (std::vector<ScalingPoint>{{1, 10}, {2, 19}}));
}

TEST(RubatoReader, RefusesUnknownFieldsWithTheNearestSpelling) {
  const TraceText trace =
      read_rubato("{\"arrival\":1,\"dedline\":5}\n{\"arrival\":1,\"workers\":{\"mim\":1}}\n");

  EXPECT_FALSE(trace.status.ok());
  EXPECT_TRUE(trace.jobs.empty());
  EXPECT_THAT(messages(trace),
              ElementsAre("trace:2: dedline: unknown field; did you mean 'deadline'?",
                          "trace:3: workers.mim: unknown field; did you mean 'min'?"));
}

TEST(RubatoReader, ExplainsWrongValues) {
  const TraceText trace = read_rubato(
      "{}\n"
      "{\"arrival\":\"soon\"}\n"
      "{\"arrival\":1600000000000}\n"
      "{\"arrival\":1,\"class\":\"slow\"}\n"
      "{\"arrival\":1,\"requested\":0}\n"
      "{\"arrival\":1,\"batch\":1.5}\n"
      "{\"arrival\":1,\"data_gb\":-1}\n"
      "{\"arrival\":1,\"workers\":{\"min\":4,\"max\":2}}\n"
      "{\"arrival\":1,\"workers\":{\"listed\":[2,2]}}\n"
      "{\"arrival\":1,\"value\":{\"steps\":[{\"within\":2,\"amount\":1},"
      "{\"within\":1,\"amount\":1}]}}\n"
      "{\"arrival\":1,\"id\":-1}\n"
      "[1]\n"
      "{\"arrival\":1\n");

  EXPECT_THAT(
      messages(trace),
      ElementsAre(
          "trace:2: arrival: missing",
          "trace:3: arrival: found '\"soon\"', expected a number from 0 to 4e+09",
          "trace:4: arrival: found '1600000000000', expected seconds up to 4000000000; it looks "
          "like milliseconds: divide by 1000",
          "trace:5: class: found 'slow', expected one of slo, soft, best_effort; did you mean "
          "'slo'?",
          "trace:6: requested: found '0', expected a whole number from 1 to 1048576",
          "trace:7: batch: found '1.5', expected a whole number from 0 to 2147483647",
          "trace:8: data_gb: found '-1', expected a number from 0 to 1e+09",
          "trace:9: workers.min: 4 is more than max, which is 2",
          "trace:10: workers.listed: expected rising whole numbers from 1",
          "trace:11: value.steps: expected rising 'within' and falling 'amount'",
          "trace:12: id: expected a whole number, zero or more",
          "trace:13: found '[1]', expected an object",
          "trace:14: found '{\"arrival\":1', expected one JSON object"));
}

TEST(RubatoReader, RefusesSpeedsThatCannotBe) {
  for (const std::string bad : {"[[0,1]]", "[[1,0]]", "[[1,-2]]", "[[2,1],[2,3]]", "[[1.5,1]]",
                                "[[1]]", "[[1,2,3]]", "[1,2]", "[[1,\"2\"]]", "[[-1,2]]"}) {
    EXPECT_THAT(messages(read_rubato("{\"arrival\":1,\"speeds\":" + bad + "}\n")),
                ElementsAre("trace:2: speeds: expected [workers, steps per second] with rising "
                            "workers, all above zero"))
        << bad;
  }
}

TEST(RubatoReader, RefusesOtherVersionsAndMissingHeaders) {
  EXPECT_THAT(messages(read_text("rubato", "{\"format\":\"rubato-trace/3\"}\n{\"arrival\":1}\n")),
              ElementsAre("trace:1: format: found 'rubato-trace/3', expected rubato-trace/2 or "
                          "rubato-trace/1: this version reads no other"));
  EXPECT_THAT(messages(read_text("rubato", "{\"arrival\":1}\n")),
              ElementsAre("trace:1: arrival: unknown field", "trace:1: format: missing"));
  EXPECT_THAT(messages(read_text("rubato", "")),
              ElementsAre("trace: found no header, expected {\"format\":\"rubato-trace/2\"}"));
}

TEST(RubatoReader, ReadsTheVersionBeforeRegions) {
  const TraceText trace =
      read_text("rubato", "{\"format\":\"rubato-trace/1\",\"jobs\":1}\n{\"arrival\":1}\n");

  EXPECT_TRUE(messages(trace).empty());
  EXPECT_EQ(trace.jobs.size(), 1U);
}

TEST(RubatoReader, NoticesAFileThatWasCutOff) {
  const TraceText trace = read_text(
      "rubato", "{\"format\":\"rubato-trace/2\",\"jobs\":3}\n{\"arrival\":1}\n{\"arrival\":2}\n");

  EXPECT_THAT(messages(trace), ElementsAre("trace: jobs: found 2 jobs, the header promises 3: the "
                                           "file was cut off or edited"));
}

}  // namespace
}  // namespace rubato
