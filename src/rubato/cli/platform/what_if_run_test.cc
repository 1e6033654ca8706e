#include "rubato/cli/platform/what_if_run.h"

#include <chrono>

#include <gtest/gtest.h>

#include "rubato/wire/timestamp.h"
#include "rubato/wire/what_if_answer.h"

namespace rubato {
namespace {

/// Two jobs, one of them with a deadline, on two machines of two slots.
LivePosition position_of_two() {
  LivePosition position{.now = Instant{std::chrono::hours(1000)}, .policy = "elasticflow"};
  position.nodes = {{.name = "a", .agent = "local", .slots = 2},
                    {.name = "b", .agent = "local", .slots = 2}};
  for (std::uint64_t id : {7U, 9U}) {
    Job job{.id = JobId{id}, .name = "job-" + std::to_string(id)};
    job.work = 1200;
    job.speeds = {{.workers = 1, .speed = 10}, {.workers = 2, .speed = 19}};
    job.job_class = id == 7 ? JobClass::Slo : JobClass::BestEffort;
    if (id == 7) {
      job.deadline = position.now + std::chrono::seconds(90);
    }
    position.jobs.push_back(job);
  }
  return position;
}

wire::WhatIfReply played(const wire::WhatIfRequest& request) {
  const auto answer = play_what_if(position_of_two(), request);
  const auto* refusal = std::get_if<Refusal>(&answer);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
  return std::get<wire::WhatIfReply>(answer);
}

TEST(WhatIfRun, SharesFollowEachOtherFromNowToTheFinish) {
  const auto reply = played({});

  ASSERT_EQ(reply.jobs_size(), 2);
  for (const wire::WhatIfJob& job : reply.jobs()) {
    ASSERT_GT(job.shares_now_size(), 0) << job.name();
    ASSERT_EQ(job.shares_now_size(), job.shares_then_size());
    Instant end = position_of_two().now;
    for (const wire::PlannedShare& share : job.shares_now()) {
      EXPECT_GT(share.workers(), 0);
      EXPECT_LE(share.workers(), 4);
      EXPECT_GE(*from_timestamp(share.from()), end);
      EXPECT_GT(*from_timestamp(share.to()), *from_timestamp(share.from()));
      end = *from_timestamp(share.to());
    }
    EXPECT_EQ(end, *from_timestamp(job.finish_now()));
  }
}

TEST(WhatIfRun, WithHalfOfTheMachinesSomebodyFinishesLater) {
  wire::WhatIfRequest request;
  request.add_remove_nodes("b");

  const auto reply = played(request);

  bool is_hurt = false;
  for (const wire::WhatIfJob& job : reply.jobs()) {
    is_hurt |= *from_timestamp(job.finish_then()) > *from_timestamp(job.finish_now());
    for (const wire::PlannedShare& share : job.shares_then()) {
      EXPECT_LE(share.workers(), 2);
    }
  }
  EXPECT_TRUE(is_hurt);
  EXPECT_GT(reply.mean_finish_seconds_then(), reply.mean_finish_seconds_now());
}

TEST(WhatIfRun, RefusesAChangeThatLeavesNothingOrNamesNobody) {
  wire::WhatIfRequest all;
  all.add_remove_nodes("a");
  all.add_remove_nodes("b");
  wire::WhatIfRequest unknown;
  unknown.add_remove_nodes("c");
  for (const auto& request : {all, unknown}) {
    const auto answer = play_what_if(position_of_two(), request);
    ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
    EXPECT_EQ(std::get<Refusal>(answer).field, "remove_nodes");
  }
}

wire::WhatIfRequest scaled(const std::string& job, int min, int max) {
  wire::WhatIfRequest request;
  request.mutable_scale()->set_job(job);
  request.mutable_scale()->mutable_workers()->set_min(min);
  request.mutable_scale()->mutable_workers()->set_max(max);
  return request;
}

TEST(WhatIfRun, AScaleShowsWhatTheJobAndTheOthersWouldLoseAndGain) {
  LivePosition position = position_of_two();
  position.promised[JobId{7}] = position.now + std::chrono::seconds(110);

  const auto answer = play_what_if(position, scaled("7", 1, 1));
  ASSERT_TRUE(std::holds_alternative<wire::WhatIfReply>(answer));
  const auto& reply = std::get<wire::WhatIfReply>(answer);

  const wire::WhatIfJob& job = reply.jobs(0);
  EXPECT_EQ(job.job(), "7");
  EXPECT_EQ(shift_of(job), Shift::Later);
  EXPECT_EQ(job.promise_now(), kPromiseKept);
  EXPECT_EQ(job.promise_then(), kPromiseBroken) << "1,200 steps, 10 a second, need 120 s of 110";
  EXPECT_TRUE(would_break(job));
  EXPECT_EQ(*from_timestamp(job.promised()), position.now + std::chrono::seconds(110));
  for (const wire::PlannedShare& share : job.shares_then()) {
    EXPECT_EQ(share.workers(), 1);
  }
  EXPECT_EQ(job.shares_now(0).workers(), 2);
  EXPECT_LT(job.gpu_hours_then(), job.gpu_hours_now()) << "two workers are not twice as fast";
  EXPECT_NEAR(job.gpu_hours_then(), 120.0 / 3600, 5.0 / 3600);
  EXPECT_EQ(reply.jobs(1).promise_then(), "") << "nothing was promised to it";
}

TEST(WhatIfRun, APromiseWhoseMarginIsUsedUpIsAtRisk) {
  LivePosition position = position_of_two();
  position.promised[JobId{7}] = position.now + std::chrono::seconds(130);

  const auto answer = play_what_if(position, scaled("7", 1, 1));

  EXPECT_EQ(std::get<wire::WhatIfReply>(answer).jobs(0).promise_then(), kPromiseAtRisk);
}

TEST(WhatIfRun, AScaledJobArrivesBehindTheOthersAsItReallyWould) {
  LivePosition position = position_of_two();
  position.policy = "fifo";
  position.nodes.pop_back();
  for (Job& job : position.jobs) {
    job.job_class = JobClass::BestEffort;
    job.deadline = kNever;
    job.requested = 2;
    job.workers.min = 2;
  }

  const auto answer = play_what_if(position, scaled("7", 2, 2));
  const auto& reply = std::get<wire::WhatIfReply>(answer);

  EXPECT_EQ(shift_of(reply.jobs(0)), Shift::Later);
  EXPECT_EQ(shift_of(reply.jobs(1)), Shift::Earlier);
}

TEST(WhatIfRun, AJobThatWantsMoreThanThereIsWouldBeRefused) {
  const auto reply = played(scaled("9", 64, 64));

  EXPECT_NE(reply.jobs(1).refused_then(), "");
  EXPECT_EQ(reply.jobs(0).refused_then(), "");
  EXPECT_TRUE(reply.jobs(1).has_finish_now());
  EXPECT_FALSE(reply.jobs(1).has_finish_then());
  EXPECT_EQ(shift_of(reply.jobs(1)), Shift::Later);
}

TEST(WhatIfRun, RefusesAScaleOfNobody) {
  const auto answer = play_what_if(position_of_two(), scaled("8", 1, 1));

  ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
  EXPECT_EQ(std::get<Refusal>(answer).kind, RefusalKind::NotFound);
  EXPECT_EQ(std::get<Refusal>(answer).field, "scale.job");
}

}  // namespace
}  // namespace rubato
