// Each kind of job from submission to its end, with real processes. Scripts in Python are in
// python/tests/test_platform.py.
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform_scene_test.h"
#include "train_scene_test.h"

namespace rubato {
namespace {

class PlatformKinds : public PlatformScene {
 protected:
  /// Deterministic, 316 steps of so many microseconds.
  static std::string counting_program(const std::string& step_microseconds) {
    return std::string(std::getenv("RUBATO_PROGRAMS")) + "/counting_trainer 5000 64 4 8 " +
           step_microseconds;
  }
};

TEST_F(PlatformKinds, AProgramWithOurRuntimeShrinksAndGrowsAndComputesTheSame) {
  ASSERT_EQ(rubato("run --detach --name counting --steps 316 --speeds 1:10,2:19,4:35 -- " +
                   counting_program("60000"))
                .code,
            0);
  ASSERT_TRUE(comes_to("1", "workers", "4"));
  ASSERT_EQ(
      rubato("run --steps 40 --workers 2 --deadline 60s --name urgent" + std::string(kEmulated))
          .code,
      0);
  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_EQ(field("1", "steps_done"), "316");
  EXPECT_EQ(field("1", "parameter_hash"), kUndisturbedHash);
  EXPECT_THAT(rubato("blame 1").out,
              testing::AllOf(testing::HasSubstr("4 -> 2"), testing::HasSubstr("2 -> 4")));
}

// The script is one in name: an interpreter that loads nothing of ours becomes a program that does
// what a leader does. What real scripts do is tested in Python.
TEST_F(PlatformKinds, AScriptKeepsItsProcessWhileItHasNoSlot) {
  const std::string leader = std::string(std::getenv("RUBATO_PROGRAMS")) + "/script_leader";
  ASSERT_EQ(rubato("run --detach --name script --steps 600 --workers 2 --speeds 1:50,2:90 -- "
                   "python3 -I -c \""
                   "import os; os.execv('" +
                   leader + "', ['script_leader', '600', '10000'])\"")
                .code,
            0);
  ASSERT_TRUE(comes_to("1", "workers", "2"));
  const std::string node = rubato("node list --json").json()["nodes"][0]["name"];

  ASSERT_EQ(rubato("node drain " + node).code, 0);
  const auto used = [&] {
    return rubato("node list --json").json()["nodes"][0]["slots_used"].get<int>();
  };
  for (int i = 0; i < 600 && used() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(field("1", "state"), "SUSPENDED");
  ASSERT_EQ(rubato("node resume " + node).code, 0);

  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_EQ(field("1", "steps_done"), "600");
  EXPECT_EQ(field("1", "restarts"), "0");
  const std::string log = rubato("logs 1").out;
  EXPECT_THAT(log, testing::HasSubstr("begins at step 0"));
  EXPECT_EQ(log.find("begins"), log.rfind("begins")) << log;
}

TEST_F(PlatformKinds, AnyOtherProgramGetsTorchrunsEnvironmentAndIsStartedAgainWhenItAsks) {
  const VerbOutcome run = rubato(
      "run --kind restart --name foreign --steps 10 --speeds 2:10 --workers 2 -- sh -c '"
      "echo rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, at $MASTER_ADDR:$MASTER_PORT;"
      "test $RANK = 0 || exit 0;"
      "test -e $RUBATO_CHECKPOINT_DIR/half && exit 0;"
      "touch $RUBATO_CHECKPOINT_DIR/half; exit 75'");
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_EQ(field("1", "state"), "SUCCEEDED");
  EXPECT_EQ(field("1", "restarts"), "1");
  for (const char* rank : {"rank 0 of 2, local 0, at 127.0.0.1:", "rank 1 of 2, local 1, at"}) {
    EXPECT_THAT(run.out, testing::HasSubstr(rank));
  }
}

}  // namespace
}  // namespace rubato
