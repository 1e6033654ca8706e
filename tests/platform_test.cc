// The whole platform with real processes: `rubato up`, the verbs users type, and kill -9.
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform_scene_test.h"

namespace rubato {
namespace {

TEST_F(PlatformScene, RunsAJobUnderAPromiseAndReturnsItsCode) {
  const VerbOutcome run =
      rubato("run --name first --steps 60 --deadline 60s" + std::string(kEmulated));
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_EQ(field("1", "state"), "SUCCEEDED");
  EXPECT_EQ(field("1", "steps_done"), "60");
  EXPECT_EQ(field("1", "missed"), "false");
}

TEST_F(PlatformScene, RefusesAnImpossibleDeadlineWithCounterOffers) {
  const VerbOutcome run = rubato("run --steps 100000 --deadline 5s" + std::string(kEmulated));
  EXPECT_EQ(run.code, 80);
  EXPECT_EQ(field("1", "state"), "REJECTED");
  EXPECT_EQ(field("1", "reason"), "deadline_too_soon");
}

TEST_F(PlatformScene, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(rubato("run --steps -3 --deadline 5s" + std::string(kEmulated)).code, 65);
  EXPECT_EQ(rubato("status 77").code, 85);
}

TEST_F(PlatformScene, ReturnsTheCodeOfAForeignProgramThatFails) {
  const VerbOutcome run =
      rubato("run --kind restart --steps 1 --speeds 1:1 --workers 1 -- sh -c 'exit 3'");
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_EQ(field("1", "state"), "FAILED");
}

TEST_F(PlatformScene, ShrinksOneJobForAnotherAndTellsWhoWasToBlame) {
  ASSERT_EQ(rubato("run --detach --steps 4000 --name patient" + std::string(kEmulated)).code, 0);
  ASSERT_TRUE(comes_to("1", "workers", "4"));
  ASSERT_EQ(
      rubato("run --detach --steps 300 --deadline 30s --name urgent" + std::string(kEmulated)).code,
      0);
  ASSERT_TRUE(comes_to("2", "state", "SUCCEEDED"));
  EXPECT_EQ(field("2", "missed"), "false");
  EXPECT_THAT(rubato("blame 1").out, testing::HasSubstr("arrival of job 2"));
  EXPECT_EQ(rubato("cancel 1").code, 0);
  EXPECT_TRUE(comes_to("1", "state", "CANCELLED"));
}

TEST_F(PlatformScene, EndsAJobAtItsMaxRuntime) {
  const VerbOutcome run =
      rubato("run --steps 100000 --max-runtime 2s --name endless" + std::string(kEmulated));
  EXPECT_EQ(run.code, 124) << run.out;
  EXPECT_EQ(field("1", "state"), "FAILED");
  EXPECT_THAT(field("1", "exit_cause"), testing::HasSubstr("max_runtime"));
  ASSERT_EQ(rubato("run --detach --steps 100000 --name next" + std::string(kEmulated)).code, 0);
  EXPECT_TRUE(comes_to("2", "workers", "4")) << "all its slots were given back";
  EXPECT_EQ(rubato("cancel 2").code, 0);
}

// By name: how the doctor found each thing. No interpreter is asked, which would take seconds.
std::map<std::string, std::string> levels_of(const VerbOutcome& doctor) {
  std::map<std::string, std::string> levels;
  for (const nlohmann::json& check : doctor.json().value("checks", nlohmann::json::array())) {
    levels[check.at("check")] = check.at("level");
  }
  return levels;
}

TEST_F(PlatformScene, IsFoundWellByTheDoctor) {
  auto levels = levels_of(rubato("doctor --json --python true"));
  for (const char* check : {"platform", "token", "agents", "journal", "skew", "shm", "disk"}) {
    EXPECT_EQ(levels[check], "ok") << check;
  }
  EXPECT_EQ(levels["python"], "fail");
  end(SIGKILL);
  levels = levels_of(rubato("doctor --json --python true"));
  EXPECT_EQ(levels["platform"], "fail") << "the one that RUBATO_SERVER names is gone";
  up();
}

TEST_F(PlatformScene, LosesNothingWhenItIsKilled) {
  ASSERT_EQ(
      rubato("run --detach --steps 250 --deadline 90s --name lasting" + std::string(kEmulated))
          .code,
      0);
  double before = 0;
  for (int kill = 0; kill < 3; ++kill) {
    ASSERT_TRUE(comes_to("1", "state", kill == 0 ? "RUNNING" : field("1", "state")));
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const double done = std::stod(field("1", "steps_done"));
    EXPECT_GE(done, before) << "a committed step was lost";
    before = done;
    end(SIGKILL);
    up();
  }
  ASSERT_TRUE(comes_to("1", "state", "SUCCEEDED"));
  EXPECT_EQ(field("1", "restarts"), "0") << "training went on while the platform was gone";
  EXPECT_EQ(field("1", "missed"), "false");
  EXPECT_EQ(rubato("list --json").json().at("jobs").size(), 1U);
}

}  // namespace
}  // namespace rubato
