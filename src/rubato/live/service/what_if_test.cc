#include "rubato/live/service/what_if.h"

#include <chrono>

#include <gtest/gtest.h>

#include "rubato/wire/timestamp.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

constexpr Instant kEnd{std::chrono::hours(1000)};

/// Ends at kEnd now, and so much later if it is changed.
wire::WhatIfJob shifted(const std::string& id, Duration later) {
  wire::WhatIfJob job;
  job.set_job(id);
  job.set_name("name of " + id);
  *job.mutable_finish_now() = *to_timestamp(kEnd);
  *job.mutable_finish_then() = *to_timestamp(kEnd + later);
  return job;
}

TEST(WhatIf, ASecondIsNoMove) {
  EXPECT_EQ(shift_of(shifted("1", std::chrono::seconds(1))), Shift::None);
  EXPECT_EQ(shift_of(shifted("1", std::chrono::seconds(2))), Shift::Later);
  EXPECT_EQ(shift_of(shifted("1", std::chrono::seconds(-2))), Shift::Earlier);
  wire::WhatIfJob stuck = shifted("1", {});
  stuck.clear_finish_then();
  EXPECT_EQ(shift_of(stuck), Shift::Later);
  stuck.clear_finish_now();
  EXPECT_EQ(shift_of(stuck), Shift::None);
}

TEST(WhatIf, OnlyWhatHeldBeforeCanBreak) {
  wire::WhatIfJob job;
  job.set_promise_now("at_risk");
  job.set_promise_then("broken");
  EXPECT_TRUE(would_break(job));
  job.set_promise_now("broken");
  EXPECT_FALSE(would_break(job));
}

TEST(WhatIf, HiddenJobsAreCountedAndNotNamed) {
  wire::WhatIfReply reply;
  *reply.add_jobs() = shifted("1", std::chrono::hours(1));
  *reply.add_jobs() = shifted("2", std::chrono::hours(1));
  *reply.add_jobs() = shifted("3", std::chrono::hours(-1));
  reply.mutable_jobs(1)->set_promise_now("kept");
  reply.mutable_jobs(1)->set_promise_then("broken");

  hide_jobs({JobId{2}, JobId{3}}, reply);

  ASSERT_EQ(reply.jobs_size(), 1);
  EXPECT_EQ(reply.jobs(0).job(), "1");
  EXPECT_EQ(reply.hidden_later(), 1);
  EXPECT_EQ(reply.hidden_earlier(), 1);
  EXPECT_EQ(reply.hidden_broken(), 1);
  EXPECT_EQ(reply.DebugString().find("name of 2"), std::string::npos);
}

TEST(WhatIf, OnlySoManyArePlayedAtOnce) {
  PlayLimit limit;
  int entered = 0;
  while (entered < 100 && limit.enter()) {
    ++entered;
  }
  EXPECT_LT(entered, 100);
  limit.leave();
  EXPECT_TRUE(limit.enter());
  EXPECT_FALSE(limit.enter());
}

}  // namespace
}  // namespace rubato
