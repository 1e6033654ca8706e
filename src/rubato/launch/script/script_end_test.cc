// What becomes of a script job when its leader dies, hangs or ends.
#include "rubato/launch/script/script_scene_test.h"

namespace rubato::launch::script {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using ScriptEndTest = ScriptScene;
using wire::script::ToScript;

TEST_F(ScriptEndTest, AScriptThatEndsWithCodeZeroIsFinished) {
  options_.steps_declared = 10;
  open();
  join();
  reach(9);

  wire::script::FromScript message;
  message.mutable_finished()->set_step(10);
  message.mutable_finished()->set_parameter_hash(77);
  message.mutable_finished()->set_loss(0.5);
  say(message);
  lose(ExitKind::Finished, {});

  EXPECT_FALSE(turn());
  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
  EXPECT_EQ(timeline().exit_code, 0);
  EXPECT_EQ(timeline().steps, 10U);
  EXPECT_EQ(timeline().parameter_hash, 77U);
  EXPECT_EQ(timeline().loss, 0.5);
  EXPECT_EQ(timeline().reason, "");
  EXPECT_TRUE(timeline().notices.empty());
}

TEST_F(ScriptEndTest, ItsOwnExitCodeIsTheJobs) {
  open();
  join();
  reach(4);

  lose(ExitKind::UserError, {.code = 3});

  EXPECT_FALSE(turn());
  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().exit_code, 3);
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1})) << "it is not tried again";
}

TEST_F(ScriptEndTest, AnExitCodeIsTriedAgainIfTheJobSaysSo) {
  options_.error_exits_max = 2;
  open();
  join();
  reach(4);

  lose(ExitKind::UserError, {.code = 3});
  EXPECT_EQ(timeline().outcome, JobOutcome::Running);
  join(2);
  reach(4);
  lose(ExitKind::UserError, {.code = 3});

  EXPECT_EQ(timeline().outcome, JobOutcome::Failed) << "it came no further than before";
  EXPECT_EQ(timeline().exit_code, 3);
}

TEST_F(ScriptEndTest, AScriptThatAsksForItIsQueuedAgain) {
  open();
  join();

  lose(ExitKind::Requeue, {.code = kExitRequeue});

  EXPECT_EQ(timeline().outcome, JobOutcome::Requeue);
  EXPECT_EQ(timeline().exit_code, kExitRequeue);
}

TEST_F(ScriptEndTest, FewerStepsThanDeclaredAreSaidAloud) {
  options_.steps_declared = 10;
  open();
  join();
  reach(7);

  lose(ExitKind::Finished, {});

  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
  EXPECT_THAT(timeline().reason, HasSubstr("after 7 steps; 10 were declared"));
  ASSERT_EQ(timeline().notices.size(), 1U);
}

TEST_F(ScriptEndTest, NoStepAtAllIsAFailureIfStepsWereDeclared) {
  options_.steps_declared = 10;
  open();
  join();

  lose(ExitKind::Finished, {});

  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().exit_code, kJobExitBadInput);
  EXPECT_THAT(timeline().reason, HasSubstr("without taking a training step; 10 were declared"));
}

TEST_F(ScriptEndTest, NoStepAtAllIsSaidAloud) {
  open();

  lose(ExitKind::Finished, {});

  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
  EXPECT_THAT(timeline().reason, HasSubstr("without taking a training step"));
}

TEST_F(ScriptEndTest, AKilledLeaderIsStartedAgainFromItsSnapshot) {
  open();
  join();
  reach(12);
  write_snapshot(10);
  reach(14);

  lose_to_signal(SIGKILL);

  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}, WorkerId{2}));
  EXPECT_EQ(run_->step(), 10U);
  EXPECT_EQ(last().lost_steps, 4U);
  EXPECT_TRUE(last().is_forced);
  EXPECT_THAT(last().cause, HasSubstr("worker 1: "));
  const auto welcome = join(2);
  EXPECT_EQ(welcome.resume_step(), 10U);
  EXPECT_GT(welcome.resume_bytes(), 0U);
  EXPECT_EQ(lent_.size(), 1U);
}

TEST_F(ScriptEndTest, ALossWithoutSnapshotIsSaidAloud) {
  open();
  join();
  reach(12);

  lose_to_signal(SIGKILL);

  EXPECT_EQ(run_->step(), 0U);
  EXPECT_EQ(last().lost_steps, 12U);
  ASSERT_EQ(timeline().notices.size(), 1U);
  EXPECT_THAT(timeline().notices[0].text, HasSubstr("starts again from its beginning"));
}

TEST_F(ScriptEndTest, ResumesAfterARestartOfTheWholeJob) {
  options_.keeps_snapshots = true;
  open();
  join();
  write_snapshot(10);
  reach(11);
  run_->stop("the machine goes down");
  lose(ExitKind::KilledByUs, {.signal = SIGKILL});
  run_.reset();

  open();

  EXPECT_EQ(run_->step(), 10U);
  EXPECT_EQ(join(1).resume_step(), 10U);
}

TEST_F(ScriptEndTest, GivesUpAScriptThatCrashesWhereItCrashedBefore) {
  open();

  for (std::uint64_t worker = 1; worker <= 3; ++worker) {
    EXPECT_EQ(timeline().outcome, JobOutcome::Running);
    join(worker);
    reach(6);
    lose_to_signal(SIGSEGV);
  }

  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().exit_code, 128 + SIGSEGV);
}

TEST_F(ScriptEndTest, ACrashFurtherOnIsANewOne) {
  open();

  for (std::uint64_t worker = 1; worker <= 5; ++worker) {
    join(worker);
    reach(5 + worker);
    lose_to_signal(SIGSEGV);
  }

  EXPECT_EQ(timeline().outcome, JobOutcome::Running);
}

TEST_F(ScriptEndTest, KillsByOthersAreForgivenMoreOften) {
  options_.kills_max = 5;
  open();

  for (std::uint64_t worker = 1; worker <= 5; ++worker) {
    EXPECT_EQ(timeline().outcome, JobOutcome::Running);
    join(worker);
    lose_to_signal(SIGKILL);
  }

  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
}

TEST_F(ScriptEndTest, KillsALeaderThatShowsNoSignOfLife) {
  options_.patience = std::chrono::milliseconds(20);
  options_.heartbeat = std::chrono::seconds(1);  // Also if heartbeats are further apart than that.
  open();
  const pid_t leader = start_process();
  join(1, leader);

  int status = 0;
  turn_until([&] { return ::waitpid(leader, &status, WNOHANG) == leader; });
  std::erase(pids_, leader);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  lose_to_signal(SIGKILL);

  EXPECT_THAT(timeline().workers[0].cause, HasSubstr("no heartbeat"));
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}, WorkerId{2}));
}

TEST_F(ScriptEndTest, StartsALeaderAgainThatNeverSaysAWord) {
  options_.start_patience = std::chrono::milliseconds(10);
  open();

  for (std::uint64_t worker = 1; worker <= 3; ++worker) {
    EXPECT_EQ(timeline().outcome, JobOutcome::Running);
    turn_until([&] { return launcher_.has_killed(worker); });
    lose(ExitKind::KilledByUs, {.signal = SIGKILL});
  }

  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_THAT(timeline().reason, HasSubstr("no hello since its start"));
}

TEST_F(ScriptEndTest, AnInterpreterThatLoadsNothingOfOursIsNotWaitedFor) {
  options_.start_patience = std::chrono::milliseconds(1);
  options_.command = {"python3", "-I", "train.py"};
  open();

  const auto later = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  turn_until([&] { return std::chrono::steady_clock::now() > later; });

  EXPECT_TRUE(launcher_.signals.empty());
  ASSERT_EQ(timeline().notices.size(), 1U);
  EXPECT_THAT(timeline().notices[0].text, HasSubstr("runs as it is"));
}

TEST_F(ScriptEndTest, ACopyTakesThePlaceOfALeaderThatDied) {
  open();
  const pid_t leader = start_process();
  join(1, leader);
  tell_size({.pids = {start_process()}});
  reach(20);

  end_process(leader);  // Its line stays open: its replicas have it too.
  turn_until([&] { return run_->workers_training() == 0; });
  const auto welcome = join(1, start_process(), 18);

  EXPECT_EQ(welcome.resume_bytes(), 0U) << "it has all it needs";
  EXPECT_EQ(run_->step(), 18U);
  EXPECT_EQ(last().lost_steps, 2U);
  EXPECT_TRUE(last().is_forced);
  EXPECT_THAT(last().members, ElementsAre(WorkerId{1}));
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}));
  reach(19);
  EXPECT_EQ(run_->workers_training(), 1);
}

TEST_F(ScriptEndTest, EndsWhatIsLeftIfNobodyTakesItsPlace) {
  options_.reconnect_patience = std::chrono::milliseconds(10);
  open();
  const pid_t leader = start_process();
  join(1, leader);
  reach(5);

  end_process(leader);
  turn_until([&] { return launcher_.has_killed(1); });
  lose(ExitKind::KilledByUs, {.signal = SIGKILL});

  EXPECT_THAT(timeline().workers[0].cause, HasSubstr("disconnected"));
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}, WorkerId{2}));
}

TEST_F(ScriptEndTest, GivesUpAScriptWhoseCopiesDieAtOneStep) {
  options_.kills_max = 3;
  open();
  join(1, start_process());
  reach(5);

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(timeline().outcome, JobOutcome::Running);
    end_process(pids_.back());
    turn_until([&] { return run_->workers_training() == 0; });
    heard_.clear();
    channel_.emplace(greet(1, token(), start_process(), 5));
    const auto generations = timeline().generations.size();
    turn_until([&] { return timeline().generations.size() > generations; });
  }

  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_TRUE(launcher_.has_killed(1));
}

TEST_F(ScriptEndTest, AScriptMayTakeItsTimeAfterItHasFinished) {
  options_.reconnect_patience = std::chrono::milliseconds(1);
  options_.exit_patience = std::chrono::milliseconds(1);
  open();
  join();

  wire::script::FromScript message;
  message.mutable_finished()->set_step(10);
  say(message);
  channel_.reset();
  turn_until([&] { return timeline().steps == 10; });
  for (int i = 0; i < 50; ++i) {
    turn();
  }

  EXPECT_TRUE(launcher_.signals.empty());
}

TEST_F(ScriptEndTest, AScriptMayTakeItsTimeWhileACopyKeepsItsLineOpen) {
  options_.patience = std::chrono::milliseconds(50);
  open();
  const pid_t leader = start_process();
  join(1, leader);

  wire::script::FromScript message;
  message.mutable_finished()->set_step(10);
  say(message);
  turn_until([&] { return timeline().steps == 10; });
  const auto later = std::chrono::steady_clock::now() + 4 * options_.patience;
  turn_until([&] { return std::chrono::steady_clock::now() > later; });

  EXPECT_EQ(::waitpid(leader, nullptr, WNOHANG), 0) << "it was not killed";
  EXPECT_EQ(timeline().outcome, JobOutcome::Running);
}

TEST_F(ScriptEndTest, AScriptThatHasDoneEnoughIsAskedToEndInItsOwnTime) {
  options_.steps_declared = 2000;
  options_.exit_patience = std::chrono::milliseconds(1);
  open();
  join();
  reach(340);

  run_->end_early("ended by --until accuracy >= 0.9");

  EXPECT_EQ(hear(ToScript::kExit).exit().reason(), "until");
  for (int i = 0; i < 20; ++i) {
    turn();
  }
  EXPECT_TRUE(launcher_.signals.empty()) << "it may take its time";
  reach(341);
  lose(ExitKind::Finished, {});
  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
  EXPECT_EQ(timeline().steps, 341U);
  EXPECT_EQ(timeline().reason, "ended by --until accuracy >= 0.9");
  EXPECT_TRUE(timeline().notices.empty()) << "the steps that are missing are no surprise";
}

TEST_F(ScriptEndTest, WhoeverTakesThePlaceOfAScriptThatIsToEndIsAskedToo) {
  open();
  const pid_t leader = start_process();
  join(1, leader);
  reach(20);
  run_->end_early("enough");

  end_process(leader);
  turn_until([&] { return run_->workers_training() == 0; });
  join(1, start_process(), 18);

  EXPECT_EQ(hear(ToScript::kExit).exit().reason(), "until");
}

TEST_F(ScriptEndTest, FailsIfItsProgramCannotBeStarted) {
  launcher_.is_unable = true;

  open();

  EXPECT_FALSE(turn());
  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().reason, "no such program");
}

}  // namespace
}  // namespace rubato::launch::script
