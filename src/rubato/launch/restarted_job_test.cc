#include "rubato/launch/restarted_job.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "rubato/launch/local/local_launcher.h"

namespace rubato {
namespace {

// A job of shell scripts that write into a folder of their own.
class RestartedJobs : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rubato-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    auto launcher = LocalLauncher::open({.starts_warm = false});
    ASSERT_TRUE(launcher.ok()) << launcher.error().message;
    launcher_ = std::move(*launcher);
  }
  void TearDown() override {
    launcher_.reset();
    std::filesystem::remove_all(folder_);
  }

  RestartedJob job(const std::string& script, int workers, int restarts_max = 1) {
    return RestartedJob({.command = {"sh", "-c", script},
                         .environment = inherited_environment(),
                         .working_directory = folder_,
                         .workers = workers,
                         .restarts_max = restarts_max},
                        *launcher_);
  }

  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(folder_ + "/" + name);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static void run(RestartedJob& job) {
    while (job.turn(std::chrono::milliseconds(100))) {
    }
  }

  std::string folder_;
  std::unique_ptr<LocalLauncher> launcher_;
};

TEST_F(RestartedJobs, GivesEveryWorkerItsPlace) {
  RestartedJob two = job("echo $RANK of $WORLD_SIZE > out.$RANK", 2);

  run(two);

  EXPECT_EQ(two.timeline().outcome, JobOutcome::Finished);
  EXPECT_EQ(text("out.0"), "0 of 2\n");
  EXPECT_EQ(text("out.1"), "1 of 2\n");
}

TEST_F(RestartedJobs, EndsAllAndStartsTheNewNumberOnAResize) {
  RestartedJob grown = job("touch up.$WORLD_SIZE.$RANK; [ $WORLD_SIZE = 3 ] || exec sleep 600", 2);
  while (!has("up.2.0") || !has("up.2.1")) {
    ASSERT_TRUE(grown.turn(std::chrono::milliseconds(10)));
  }

  grown.resize(3);
  run(grown);

  EXPECT_EQ(grown.timeline().outcome, JobOutcome::Finished);
  EXPECT_TRUE(has("up.3.2"));
  ASSERT_EQ(grown.timeline().generations.size(), 2U);
  EXPECT_EQ(grown.timeline().generations[1].cause, "resize to 3");
}

TEST_F(RestartedJobs, LetsAllEndInGoodOrder) {
  RestartedJob two =
      job("trap 'touch saved.$RANK; exit 0' TERM; touch up.$RANK; while :; do sleep 0.05; done", 2);
  while (!has("up.0") || !has("up.1")) {
    ASSERT_TRUE(two.turn(std::chrono::milliseconds(10)));
  }

  two.end(JobOutcome::Suspended, "the slots are needed");
  EXPECT_TRUE(two.is_changing());
  run(two);

  EXPECT_EQ(two.timeline().outcome, JobOutcome::Suspended);
  EXPECT_EQ(two.timeline().exit_code, 0);
  EXPECT_TRUE(has("saved.0") && has("saved.1"));
  EXPECT_EQ(two.workers_running(), 0);
}

TEST_F(RestartedJobs, StartsAllAgainAfterAFailure) {
  RestartedJob failing = job(
      "[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; [ $RANK = 0 ] && exit 4; exec sleep 600", 2);

  run(failing);

  EXPECT_EQ(failing.timeline().outcome, JobOutcome::Finished);
  EXPECT_EQ(failing.timeline().workers.size(), 4U);
}

TEST_F(RestartedJobs, GivesUpAfterTheAllowedRestartsWithTheProgramsCode) {
  RestartedJob hopeless = job("exit 4", 1, /*restarts_max=*/2);

  run(hopeless);

  EXPECT_EQ(hopeless.timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(hopeless.timeline().exit_code, 4);
  EXPECT_EQ(hopeless.timeline().workers.size(), 3U);
}

TEST_F(RestartedJobs, PassesOnThatTheProgramWantsToBeQueuedAgain) {
  RestartedJob saved = job("exit 75", 2);

  run(saved);

  EXPECT_EQ(saved.timeline().outcome, JobOutcome::Requeue);
  EXPECT_EQ(saved.timeline().exit_code, 75);
}

}  // namespace
}  // namespace rubato
