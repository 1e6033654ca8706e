#include "rubato/cli/what_if_run.h"

#include <chrono>

#include <gtest/gtest.h>

#include "rubato/live/scheduler_time.h"

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

}  // namespace
}  // namespace rubato
