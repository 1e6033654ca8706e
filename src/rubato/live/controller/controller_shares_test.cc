#include <set>

#include <gtest/gtest.h>

#include "rubato/live/controller/controller_world_test.h"
#include "rubato/wire/timestamp.h"

namespace rubato {
namespace {

TEST(ControllerShares, TellsTheLastSharesOfAJobUnderAPolicyWithoutPlansToo) {
  ControllerWorld world(1, 4, 1);
  wire::JournalInput change;
  change.mutable_policy()->set_policy("srtf");
  world.play(change);
  const JobId id = world.submit(100'000, 0);
  for (int round = 0; round < 12; ++round) {
    world.run(2);
    wire::JournalInput scale;
    scale.mutable_scaled()->set_job(id.value);
    scale.mutable_scaled()->mutable_workers()->set_min(round % 2 == 0 ? 4 : 2);
    world.play(scale);
  }
  world.run(2);

  const wire::JobStatus status =
      world.controller().status(world.now(), *world.controller().find(id));

  EXPECT_EQ(status.plan_size(), 0);
  ASSERT_GT(status.past_size(), 1);
  EXPECT_LE(status.past_size(), 8);
  EXPECT_EQ(status.past().rbegin()->workers(), status.workers());
  EXPECT_EQ(*from_timestamp(status.past().rbegin()->to()), world.now());
  std::set<int> shares;
  for (int i = 0; i < status.past_size(); ++i) {
    const wire::PlannedShare& share = status.past(i);
    shares.insert(share.workers());
    EXPECT_LT(*from_timestamp(share.from()), *from_timestamp(share.to()));
    if (i > 0) {
      EXPECT_EQ(*from_timestamp(status.past(i - 1).to()), *from_timestamp(share.from()));
    }
  }
  EXPECT_TRUE(shares.contains(2) && shares.contains(4));
  wire::JournalInput cancel;
  cancel.mutable_cancelled()->set_job(id.value);
  world.play(cancel);
  EXPECT_EQ(world.controller().status(world.now(), *world.controller().find(id)).past_size(), 0);
}

}  // namespace
}  // namespace rubato
