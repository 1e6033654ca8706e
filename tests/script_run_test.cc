// Script jobs with real processes: whatever happens to the leader and its replicas, the job takes
// all its steps, and what was lost is told.
#include "rubato/launch/script/script_run.h"

#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>

#include "rubato/launch/local/local_launcher.h"
#include "train_scene_test.h"

namespace rubato {
namespace {

using launch::script::ScriptRun;
using launch::script::ScriptRunOptions;
using testing::HasSubstr;

/// One job of tests/programs/script_leader.cc.
class ScriptJobTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("RUBATO_PROGRAMS"), nullptr);
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
    options_.directory = folder_;
    options_.working_directory = folder_;
  }
  void TearDown() override {
    run_.reset();
    launcher_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open(const std::vector<std::string>& words, const std::string& steps = "200") {
    options_.command = {std::string(std::getenv("RUBATO_PROGRAMS")) + "/script_leader", steps,
                        "1000"};
    options_.command.insert(options_.command.end(), words.begin(), words.end());
    launcher_ = std::move(*LocalLauncher::open({.log_folder = folder_, .starts_warm = false}));
    auto opened = ScriptRun::open(options_, *launcher_, events_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    run_ = std::move(*opened);
  }
  bool turn() { return run_->turn(std::chrono::milliseconds(100)); }
  template <typename Condition>
  void turn_until(const Condition& holds) {
    while (!holds() && turn()) {
    }
  }
  const JobTimeline& finish() {
    while (turn()) {
    }
    return run_->timeline();
  }
  [[nodiscard]] const JobTimeline& timeline() const { return run_->timeline(); }
  [[nodiscard]] std::string log(int worker) const {
    return text_of_file(folder_ / ("worker-" + std::to_string(worker) + ".log"));
  }
  [[nodiscard]] std::uint64_t lost() const {
    std::uint64_t steps = 0;
    for (const GenerationRecord& record : timeline().generations) {
      steps += record.lost_steps;
    }
    return steps;
  }
  // When a step is reached; the leader says so at once.
  void at(std::uint64_t step, std::function<void()> act) {
    options_.milestones.push_back(step);
    std::ranges::sort(options_.milestones);
    acts_[step] = std::move(act);
    events_.on_step = [this](std::uint64_t now) {
      while (!acts_.empty() && acts_.begin()->first <= now) {
        const auto due = std::move(acts_.begin()->second);
        acts_.erase(acts_.begin());
        due();
      }
    };
  }
  void signal(int rank, int number) {
    if (const auto worker = run_->worker_at(rank)) {
      EXPECT_TRUE(run_->signal(*worker, number).ok());
    }
  }

  std::filesystem::path folder_;
  ScriptRunOptions options_;
  TrainingRunEvents events_;
  std::map<std::uint64_t, std::function<void()>> acts_;
  std::unique_ptr<LocalLauncher> launcher_;
  std::unique_ptr<ScriptRun> run_;
};

TEST_F(ScriptJobTest, TakesAllItsSteps) {
  options_.workers = 2;
  options_.steps_declared = 200;
  open({});

  EXPECT_EQ(finish().outcome, JobOutcome::Finished);
  EXPECT_EQ(timeline().steps, 200U);
  EXPECT_EQ(timeline().parameter_hash, 40'000U);
  EXPECT_EQ(timeline().generations.size(), 1U);
  EXPECT_EQ(timeline().reason, "");
  EXPECT_EQ(log(1), "begins at step 0\nends at step 200\n");
}

TEST_F(ScriptJobTest, GrowsAndShrinks) {
  at(40, [&] { run_->resize(4); });
  at(120, [&] { run_->resize(2); });
  open({});

  finish();

  EXPECT_EQ(timeline().steps, 200U);
  ASSERT_EQ(timeline().generations.size(), 3U);
  EXPECT_EQ(timeline().generations[1].members.size(), 4U);
  EXPECT_GE(timeline().generations[1].step, 40U);
  EXPECT_EQ(timeline().generations[2].members.size(), 2U);
  EXPECT_EQ(lost(), 0U);
}

TEST_F(ScriptJobTest, GoesOnWithoutAReplicaThatWasKilled) {
  options_.workers = 3;
  at(80, [&] { signal(1, SIGKILL); });
  open({});

  finish();

  EXPECT_EQ(timeline().steps, 200U);
  ASSERT_EQ(timeline().generations.size(), 2U);
  EXPECT_TRUE(timeline().generations[1].is_forced);
  EXPECT_EQ(timeline().generations[1].members.size(), 3U);
  EXPECT_EQ(lost(), 0U);
}

TEST_F(ScriptJobTest, FreesSlotsOfAScriptThatIsBusyElsewhere) {
  options_.workers = 3;
  at(80, [&] { run_->resize(1); });
  open({"busy-at=60"}, "1000");

  turn_until([&] { return run_->slots_held() == 1 && run_->step() >= 80; });
  EXPECT_EQ(timeline().outcome, JobOutcome::Running);
  finish();

  EXPECT_EQ(timeline().steps, 1000U);
  EXPECT_TRUE(timeline().generations[1].is_forced);
  EXPECT_EQ(timeline().generations[1].members.size(), 1U);
}

TEST_F(ScriptJobTest, ResumesFromASnapshotAfterTheLossOfTheLeader) {
  options_.snapshot_steps = 20;
  options_.workers = 2;
  at(110, [&] { signal(0, SIGKILL); });
  open({});

  finish();

  EXPECT_EQ(timeline().steps, 200U);
  EXPECT_LE(lost(), 30U);
  EXPECT_GE(timeline().generations[1].step, 80U);
  EXPECT_THAT(log(3), HasSubstr("begins at step"));
  EXPECT_THAT(log(3), testing::Not(HasSubstr("begins at step 0\n")));
}

TEST_F(ScriptJobTest, KillsAFrozenLeaderAndStartsItAgain) {
  options_.snapshot_steps = 20;
  options_.patience = std::chrono::milliseconds(400);
  at(110, [&] { signal(0, SIGSTOP); });
  open({});

  finish();

  EXPECT_EQ(timeline().steps, 200U);
  EXPECT_THAT(timeline().workers[0].cause, HasSubstr("no heartbeat"));
}

TEST_F(ScriptJobTest, ASleepingCopyGoesOnInPlaceOfTheLeader) {
  options_.workers = 2;
  at(110, [&] { signal(0, SIGKILL); });
  open({"copies=10"});

  finish();

  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
  EXPECT_EQ(timeline().steps, 200U);
  EXPECT_LE(lost(), 20U);
  EXPECT_EQ(timeline().exit_code, 0);
  EXPECT_THAT(log(1), HasSubstr("a copy goes on at step 1"));
  EXPECT_THAT(log(1), HasSubstr("ends at step 200"));
}

TEST_F(ScriptJobTest, ParksAndGoesOn) {
  options_.workers = 3;
  at(80, [&] { run_->park(); });
  open({});

  turn_until([&] { return run_->is_parked(); });
  EXPECT_EQ(run_->slots_held(), 0);
  const std::uint64_t step = run_->step();
  run_->resize(2);
  finish();

  EXPECT_GE(step, 80U);
  EXPECT_EQ(timeline().steps, 200U);
  EXPECT_EQ(lost(), 0U);
  EXPECT_EQ(log(1), "begins at step 0\nends at step 200\n");
}

TEST_F(ScriptJobTest, IsSuspendedAndResumesLater) {
  options_.keeps_snapshots = true;
  at(80, [&] { run_->suspend("suspended"); });
  open({});
  EXPECT_EQ(finish().outcome, JobOutcome::Suspended);
  const std::uint64_t step = run_->step();
  EXPECT_GE(step, 80U);
  run_.reset();
  events_ = {};

  open({});
  EXPECT_EQ(run_->step(), step);
  finish();

  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
  EXPECT_EQ(timeline().steps, 200U);
  EXPECT_EQ(lost(), 0U);
  EXPECT_THAT(log(1), HasSubstr("begins at step " + std::to_string(step)));
}

TEST_F(ScriptJobTest, EndsWithTheCodeOfTheScript) {
  open({"exit=3"}, "10");

  EXPECT_EQ(finish().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().exit_code, 3);
  EXPECT_EQ(log(1), "begins at step 0\nends at step 10\n") << "it ran once";
}

TEST_F(ScriptJobTest, GivesUpAScriptThatAlwaysCrashesAtOneStep) {
  options_.snapshot_steps = 5;
  open({"crash-at=12"}, "40");

  EXPECT_EQ(finish().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().exit_code, 128 + SIGSEGV);
  // What it did after its last snapshot may not have been told of when it crashed.
  EXPECT_THAT(timeline().steps, testing::AllOf(testing::Ge(10U), testing::Le(11U)));
}

}  // namespace
}  // namespace rubato
