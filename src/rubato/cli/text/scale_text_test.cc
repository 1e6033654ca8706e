#include "rubato/cli/text/scale_text.h"

#include <gtest/gtest.h>

#include "rubato/cli/client/scale_flag.h"
#include "rubato/cli/text/cluster_text.h"
#include "rubato/cli/text/moment_text.h"

namespace rubato {
namespace {

constexpr Instant kNoon{std::chrono::hours(12)};

google::protobuf::Timestamp after_noon(int minutes) {
  return timestamp_from(kNoon + std::chrono::minutes(minutes));
}

/// Job 42 would end later than promised, one beside it earlier, and hidden ones are moved too.
wire::WhatIfReply reply_of_two() {
  wire::WhatIfReply reply;
  wire::WhatIfJob& job = *reply.add_jobs();
  job.set_job("42");
  job.set_name("resnet");
  *job.mutable_finish_now() = after_noon(60);
  *job.mutable_finish_then() = after_noon(150);
  *job.mutable_promised() = after_noon(120);
  job.set_promise_now("kept");
  job.set_promise_then("broken");
  job.set_met_now(true);
  job.set_gpu_hours_now(4);
  job.set_gpu_hours_then(2.5);
  wire::WhatIfJob& other = *reply.add_jobs();
  other.set_job("43");
  other.set_name("bert");
  *other.mutable_finish_now() = after_noon(60);
  *other.mutable_finish_then() = after_noon(30);
  other.set_met_now(true);
  other.set_met_then(true);
  reply.set_hidden_later(1);
  reply.set_hidden_broken(1);
  reply.set_deadlines_met_ratio_now(1);
  return reply;
}

wire::WhatIfScale scale_of(std::string_view text) {
  const auto scale = parse_scale(text);
  EXPECT_TRUE(scale) << scale.error().message;
  return scale.value();
}

TEST(ScaleText, SaysWhatItWouldDoToTheJobAndToOthers) {
  const WallClock clock{.now = kNoon};

  EXPECT_EQ(scale_text(reply_of_two(), scale_of("42=1-2"), clock),
            "job 42 with workers 1-2\n"
            " finish     13:00 -> 14:30, 1.5 h later\n"
            " promise    by 14:00: kept -> broken\n"
            " GPU-hours  4 -> 2.5, 1.5 less\n"
            " others     1 later, 1 earlier, 1 promise broken (1 of other tenants)\n");
  EXPECT_EQ(scale_text(reply_of_two(), {}, clock), "");
}

TEST(ScaleText, AJobThatWouldNotEndIsNoneThatStays) {
  wire::WhatIfReply reply = reply_of_two();
  reply.mutable_jobs(0)->clear_finish_then();
  reply.mutable_jobs(0)->set_refused_then("It is too wide.");
  const WallClock clock{.now = kNoon};

  EXPECT_EQ(scale_text(reply, scale_of("42=64"), clock),
            "job 42 with workers 64\n"
            " finish     13:00 -> never, does not end\n"
            " refused    it would be ended: It is too wide.\n"
            " promise    by 14:00: kept -> broken\n"
            " others     1 later, 1 earlier, 1 promise broken (1 of other tenants)\n");
  const std::string table = what_if_text(reply, clock);
  EXPECT_NE(table.find("0 of 2 jobs as now"), std::string::npos) << table;
  EXPECT_NE(table.find("kept -> broken"), std::string::npos) << table;
}

TEST(ScaleFlag, WorkersAreSpelledAsInScale) {
  EXPECT_EQ(scale_of("42=1-8").job(), "42");
  EXPECT_EQ(scale_of("42=1-8").workers().max(), 8);
  EXPECT_EQ(scale_of("42=4").workers().min(), 4);
  EXPECT_EQ(scale_of("42=1,2,4").workers().listed_size(), 3);
}

TEST(ScaleFlag, SaysWhatWasMeant) {
  EXPECT_EQ(parse_scale("42").error().message, "found '42', expected JOB=WORKERS such as 42=1-8");
  EXPECT_NE(parse_scale("42=1..8").error().message.find("did you mean '42=1-8'?"),
            std::string::npos);
  EXPECT_NE(parse_scale("42:1-8").error().message.find("did you mean '42=1-8'?"),
            std::string::npos);
  EXPECT_EQ(parse_scale("42=many").error().message.find("did you mean"), std::string::npos);
  EXPECT_FALSE(parse_scale("=1-8"));
}

}  // namespace
}  // namespace rubato
