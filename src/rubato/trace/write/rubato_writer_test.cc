#include "rubato/trace/write/rubato_writer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/trace/read/record_reader.h"
#include "rubato/trace/read_text_test.h"

namespace rubato {
namespace {

// Any finite double that is not negative, over the whole range of exponents.
double any_amount(Random& random) {
  return random.uniform() * std::exp2(random.uniform(-900, 900));
}

Duration any_span(Random& random) {
  return Duration{random.integer(0, static_cast<std::int64_t>(kSecondsMax) * 1'000'000)};
}

std::string any_text(Random& random) {
  static constexpr std::array<std::string_view, 8> kParts{"a", "\"", "\\",   "\n",
                                                          "é", "{",  "\x01", ","};
  std::string text;
  for (auto left = random.integer(0, 6); left > 0; --left) {
    text += kParts.at(static_cast<std::size_t>(random.integer(0, 7)));
  }
  return text;
}

ValueFunction any_value(Random& random) {
  ValueFunction value{.kind = static_cast<ValueKind>(random.integer(0, 3)),
                      .amount = any_amount(random),
                      .decay = any_amount(random),
                      .knee = any_span(random)};
  for (auto left = random.integer(0, 3); left > 0; --left) {
    value.steps.push_back({.within = any_span(random), .amount = any_amount(random)});
  }
  std::ranges::sort(value.steps, {}, &ValueStep::within);
  std::vector<double> amounts;
  for (const ValueStep& step : value.steps) {
    amounts.push_back(step.amount);
  }
  std::ranges::sort(amounts, std::ranges::greater{});
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    value.steps[i].amount = amounts[i];
  }
  return value;
}

Job any_job(std::uint64_t seed) {
  Random random(seed);
  Job job{.id = JobId{random.next()},
          .name = any_text(random),
          .tenant = any_text(random),
          .job_class = static_cast<JobClass>(random.integer(0, 2)),
          .arrival = Instant{any_span(random)},
          .deadline = random.chance(0.5) ? kNever : Instant{any_span(random)},
          .work = any_amount(random),
          .model = any_text(random),
          .batch = static_cast<int>(random.integer(0, 1 << 30)),
          .requested = static_cast<int>(random.integer(1, kGpusMax)),
          .duration = any_span(random),
          .gpu_type = any_text(random),
          .region = any_text(random),
          .data_gb = random.chance(0.3) ? 0 : random.uniform(0, 1e9),
          .weight = random.chance(0.3) ? 1 : any_amount(random)};
  if (random.chance(0.5)) {
    job.workers = {
        .min = 1, .max = static_cast<int>(random.integer(4, kGpusMax)), .listed = {1, 3}};
  }
  if (random.chance(0.5)) {
    job.value = any_value(random);
  }
  if (random.chance(0.5)) {
    job.speeds = {{.workers = 1, .speed = random.uniform(0.1, 10)},
                  {.workers = kGpusMax, .speed = 1.0 / 3}};
  }
  return job;
}

void expect_same(const Job& left, const Job& right) {
  EXPECT_EQ(left.id, right.id);
  EXPECT_EQ(left.name, right.name);
  EXPECT_EQ(left.tenant, right.tenant);
  EXPECT_EQ(left.job_class, right.job_class);
  EXPECT_EQ(left.arrival, right.arrival);
  EXPECT_EQ(left.deadline, right.deadline);
  EXPECT_EQ(left.work, right.work);
  EXPECT_EQ(left.model, right.model);
  EXPECT_EQ(left.batch, right.batch);
  EXPECT_EQ(left.requested, right.requested);
  EXPECT_EQ(left.duration, right.duration);
  EXPECT_EQ(left.workers, right.workers);
  EXPECT_EQ(left.gpu_type, right.gpu_type);
  EXPECT_EQ(left.region, right.region);
  EXPECT_EQ(left.data_gb, right.data_gb);
  EXPECT_EQ(left.weight, right.weight);
  EXPECT_EQ(left.value, right.value);
  EXPECT_EQ(left.speeds, right.speeds);
}

TEST(RubatoWriter, EveryJobReadsBackBitForBit) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const Job job = any_job(seed);

    const TraceText trace = read_text("rubato", rubato_header_line({}) + rubato_job_line(job));

    ASSERT_TRUE(trace.status.ok()) << "seed " << seed << ": " << trace.status.error().message;
    expect_same(trace.jobs.at(0), job);
    ASSERT_EQ(rubato_job_line(trace.jobs.at(0)), rubato_job_line(job)) << "seed " << seed;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ": " << rubato_job_line(job);
  }
}

TEST(RubatoWriter, LeavesDefaultsOut) {
  const Job job{.name = "a", .job_class = JobClass::BestEffort, .arrival = second(1.5), .work = 10};

  EXPECT_EQ(rubato_job_line(job),
            "{\"id\":0,\"name\":\"a\",\"class\":\"best_effort\",\"arrival\":1.5,\"work\":10,"
            "\"model\":\"\",\"batch\":0,\"requested\":1,\"duration\":0}\n");
}

TEST(RubatoWriter, TheHeaderSaysWhatIsKnown) {
  EXPECT_EQ(rubato_header_line({}), "{\"format\":\"rubato-trace/2\"}\n");
  EXPECT_EQ(rubato_header_line({.source = "a \"b\"", .seed = 7, .jobs = 2}),
            "{\"format\":\"rubato-trace/2\",\"source\":\"a \\\"b\\\"\",\"seed\":7,\"jobs\":2}\n");
}

TEST(RubatoWriter, BytesThatAreNoTextAreReplaced) {
  const Job job{.name = "a\xff", .job_class = JobClass::BestEffort};

  const TraceText trace = read_text("rubato", rubato_header_line({}) + rubato_job_line(job));

  ASSERT_TRUE(trace.status.ok());
  EXPECT_EQ(trace.jobs.at(0).name, "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace rubato
