#include <gmock/gmock.h>

#include "rubato/live/controller/controller_world_test.h"

namespace rubato {
namespace {

TEST(ControllerUntil, AJobThatItsRuleEndsEarlySucceedsAndIsNoWrongQuote) {
  ControllerWorld world(1, 4, 1);
  const JobId early = world.submit(2000, 600);
  world.run(20);
  ASSERT_TRUE(world.controller().find(early)->promise.is_simulated);
  wire::JournalInput input;
  input.mutable_ended()->set_job("1");
  input.mutable_ended()->set_order(world.controller().find(early)->order);
  input.mutable_ended()->set_outcome("finished");
  input.mutable_ended()->set_by_until(true);
  input.mutable_ended()->set_detail("ended by --until accuracy >= 0.9 (0.95 at step 340)");
  input.mutable_ended()->set_done(340);

  world.play(input);

  EXPECT_EQ(world.controller().find(early)->state, LiveState::Succeeded);
  EXPECT_EQ(world.controller().find(early)->done, 340);
  EXPECT_TRUE(world.controller().quote_errors().empty());
  EXPECT_THAT(world.controller().find(early)->message,
              testing::EndsWith("finished: ended by --until accuracy >= 0.9 (0.95 at step 340)"));
}

}  // namespace
}  // namespace rubato
