// What a script job does while its leader lives.
#include "rubato/launch/script/script_scene_test.h"

namespace rubato::launch::script {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using ScriptRunTest = ScriptScene;
using wire::script::ToScript;

TEST_F(ScriptRunTest, StartsOneProcessAndTellsItWhereToReport) {
  open();

  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}));
  EXPECT_EQ(launcher_.environment.at("RUBATO_SCRIPT"), "1");
  EXPECT_EQ(launcher_.environment.at("RUBATO_WORKER"), "1");
  EXPECT_EQ(run_->workers_training(), 0);
  EXPECT_EQ(run_->slots_held(), 1);
}

TEST_F(ScriptRunTest, SaysHowTheJobIsRun) {
  options_.workers = 3;
  options_.seed = 7;
  options_.steps_declared = 100;
  options_.until = "accuracy >= 0.9";
  options_.snapshot_steps = 50;
  options_.milestones = {10, 20};
  open();

  const auto welcome = join();

  EXPECT_EQ(welcome.workers(), 3U);
  EXPECT_EQ(welcome.seed(), 7U);
  EXPECT_EQ(welcome.steps_declared(), 100U);
  EXPECT_EQ(welcome.until(), "accuracy >= 0.9");
  EXPECT_EQ(welcome.snapshot_steps(), 50U);
  EXPECT_EQ(welcome.heartbeat_us(), 1000);
  EXPECT_THAT(welcome.milestones(), ElementsAre(10U, 20U));
  EXPECT_EQ(welcome.resume_bytes(), 0U);
}

TEST_F(ScriptRunTest, DropsAStrangerWithAnotherToken) {
  open();

  UnixChannel stranger = greet(1, 12345, ::getpid(), 0);
  turn_until([&] { return !stranger.receive().ok(); });

  join();  // The place is still free.
}

TEST_F(ScriptRunTest, RefusesAPackageOfAnotherVersionAndSaysSo) {
  open();
  version_ = kScriptProtocol + 1;

  UnixChannel stranger = greet(1, token(), ::getpid(), 0);
  turn_until([&] { return !stranger.receive().ok(); });

  ASSERT_EQ(timeline().notices.size(), 1U);
  EXPECT_THAT(timeline().notices[0].text, HasSubstr("install both from one source"));
}

TEST_F(ScriptRunTest, DropsAChildThatHasInheritedTheNameOfALeaderThatLives) {
  open();
  join();

  UnixChannel child = greet(1, token(), start_process(), 0);
  turn_until([&] { return !child.receive().ok(); });

  reach(5);
}

TEST_F(ScriptRunTest, ShowsTheStartAsTheFirstGeneration) {
  open();
  join();

  tell_size({.pids = {start_process()}});
  reach(1);

  ASSERT_EQ(timeline().generations.size(), 1U);
  EXPECT_EQ(last().cause, "start");
  EXPECT_THAT(last().members, ElementsAre(WorkerId{1}, WorkerId{2}));
  EXPECT_EQ(last().pause, std::chrono::milliseconds(4));
  EXPECT_NE(last().first_step, Duration{});
  EXPECT_EQ(timeline().workers.size(), 2U);
}

TEST_F(ScriptRunTest, AScriptThatNeverHasReplicasTrainsAlone) {
  options_.workers = 1;
  open();
  join();

  reach(1);

  EXPECT_EQ(run_->workers_training(), 1);
  EXPECT_TRUE(run_->has_resized());
  EXPECT_THAT(last().members, ElementsAre(WorkerId{1}));
  EXPECT_NE(last().entered, Duration{});
}

TEST_F(ScriptRunTest, GrowsWhenTheScriptSaysThatItHas) {
  open();
  join();
  const pid_t first = start_process();
  tell_size({.pids = {first}});
  reach(5);

  run_->resize(3);
  const auto order = hear(ToScript::kSetWorkers).set_workers();
  EXPECT_EQ(order.workers(), 3U);
  EXPECT_FALSE(run_->has_resized());
  tell_size({.pids = {first, start_process()}, .step = 6, .order = order.order()});
  reach(7);

  EXPECT_TRUE(run_->has_resized());
  EXPECT_EQ(timeline().generations.size(), 2U);
  EXPECT_EQ(last().cause, "resize to 3");
  EXPECT_THAT(last().members, ElementsAre(WorkerId{1}, WorkerId{2}, WorkerId{3}));
  EXPECT_EQ(last().step, 6U);
  EXPECT_FALSE(last().is_forced);
  EXPECT_EQ(last().lost_steps, 0U);
}

TEST_F(ScriptRunTest, HoldsItsSlotsUntilTheScriptHasShrunk) {
  open();
  join();
  tell_size({.pids = {start_process()}});
  reach(5);

  run_->resize(1);
  const auto order = hear(ToScript::kSetWorkers).set_workers();
  EXPECT_EQ(run_->slots_held(), 2);
  tell_size({.step = 6, .order = order.order()});

  EXPECT_EQ(run_->slots_held(), 1);
  EXPECT_EQ(last().cause, "resize to 1");
  EXPECT_EQ(timeline().workers[1].cause, "resize to 1") << "of the replica that went";
}

TEST_F(ScriptRunTest, SlotsAreFreeOnceTheLineSaysSoEvenIfTheScriptIsBusy) {
  open();
  join();
  tell_size({.pids = {start_process()}});
  reach(5);
  run_->resize(1);

  beat(5, 1);
  turn_until([&] { return run_->slots_held() == 1; });

  EXPECT_EQ(timeline().generations.size(), 1U) << "the script has not said anything";
}

TEST_F(ScriptRunTest, AnOrderThatTheScriptMakesNoUseOfIsSettledByItsSteps) {
  options_.workers = 1;
  open();
  join();
  reach(5);

  run_->resize(4);
  EXPECT_FALSE(run_->has_resized());
  reach(6);
  EXPECT_FALSE(run_->has_resized());
  reach(7);

  EXPECT_TRUE(run_->has_resized());
  EXPECT_EQ(run_->workers_training(), 1);
  EXPECT_EQ(timeline().generations.size(), 1U);
}

TEST_F(ScriptRunTest, TheLossOfAReplicaIsAForcedGeneration) {
  open();
  join();
  tell_size({.pids = {start_process()}});
  reach(5);

  tell_size(
      {.pids = {start_process()}, .step = 5, .cause = "a replica was lost", .is_forced = true});

  EXPECT_EQ(timeline().generations.size(), 2U);
  EXPECT_TRUE(last().is_forced);
  EXPECT_EQ(last().cause, "a replica was lost");
  EXPECT_THAT(last().members, ElementsAre(WorkerId{1}, WorkerId{3}));
  EXPECT_EQ(timeline().workers[1].cause, "a replica was lost");
}

TEST_F(ScriptRunTest, SignalsAReplicaByItsRank) {
  open();
  join(1, ::getpid());  // Only its own children are signalled.
  const pid_t replica = start_process();
  tell_size({.pids = {replica}});

  const auto worker = run_->worker_at(1);
  ASSERT_TRUE(worker.has_value());
  ASSERT_TRUE(run_->signal(*worker, SIGTERM).ok());

  int status = 0;
  ::waitpid(replica, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  std::erase(pids_, replica);
  EXPECT_TRUE(launcher_.signals.empty()) << "the others live on";
}

TEST_F(ScriptRunTest, SignalsTheProcessOfTheLeaderAlone) {
  open();
  const pid_t leader = start_process();
  join(1, leader);

  ASSERT_TRUE(run_->signal(*run_->worker_at(0), SIGTERM).ok());

  int status = 0;
  ::waitpid(leader, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  std::erase(pids_, leader);
  EXPECT_TRUE(launcher_.signals.empty());
}

TEST_F(ScriptRunTest, HasNobodyAtARankThatIsNotThere) {
  open();
  join();

  EXPECT_FALSE(run_->worker_at(1).has_value());
  EXPECT_FALSE(run_->signal(WorkerId{9}, SIGKILL).ok());
}

TEST_F(ScriptRunTest, TellsOfEveryStepOnce) {
  std::vector<std::uint64_t> steps;
  events_.on_step = [&](std::uint64_t step) { steps.push_back(step); };
  open();
  join();

  wire::script::FromScript message;
  message.mutable_reached()->set_step(3);
  say(message);
  beat(3);
  reach(4);

  EXPECT_THAT(steps, ElementsAre(3U, 4U));
}

TEST_F(ScriptRunTest, AddsUpWhatStepsCost) {
  std::vector<int> told;
  events_.on_profile = [&](const ShapeRecord& recent) { told.push_back(recent.workers); };
  open();
  join();

  wire::script::FromScript message;
  message.mutable_profile()->set_workers(2);
  message.mutable_profile()->set_steps(10);
  message.mutable_profile()->set_total_seconds(1);
  say(message);
  say(message);
  turn_until([&] { return told.size() == 2; });

  ASSERT_EQ(timeline().profile.size(), 1U);
  EXPECT_EQ(timeline().profile[0].steps, 20U);
  EXPECT_EQ(timeline().profile[0].total_seconds, 2);
}

TEST_F(ScriptRunTest, KeepsNoticesOncePerKey) {
  open();
  join();

  wire::script::FromScript message;
  message.mutable_notice()->set_key("unsplit");
  message.mutable_notice()->set_text("because");
  say(message);
  say(message);
  reach(1);

  ASSERT_EQ(timeline().notices.size(), 1U);
  EXPECT_EQ(timeline().notices[0].text, "because");
}

TEST_F(ScriptRunTest, PassesMetricsOn) {
  std::vector<MetricValue> got;
  events_.on_metrics = [&](std::span<const MetricValue> values) {
    got.assign(values.begin(), values.end());
  };
  open();
  join();

  wire::script::FromScript message;
  auto& point = *message.mutable_metrics()->add_points();
  point.set_name("accuracy");
  point.set_value(0.5);
  point.set_step(3);
  say(message);
  turn_until([&] { return !got.empty(); });

  EXPECT_EQ(got[0].name, "accuracy");
  EXPECT_EQ(got[0].value, 0.5);
  EXPECT_EQ(got[0].step, 3U);
}

TEST_F(ScriptRunTest, ShowsThatStepsAreTrainedASecondTime) {
  open();
  join();
  reach(20);

  reach(1);

  ASSERT_EQ(timeline().notices.size(), 1U);
  EXPECT_THAT(timeline().notices[0].text, HasSubstr("trained a second time"));
  EXPECT_EQ(last().lost_steps, 19U);
}

TEST_F(ScriptRunTest, GivesMemoryOfSnapshotsBackToItsLeader) {
  open();
  join();

  write_snapshot(5, 0);
  write_snapshot(6, 1);

  EXPECT_EQ(hear(ToScript::kSnapshotFree).snapshot_free().slot(), 0U);
}

TEST_F(ScriptRunTest, AsksForASnapshot) {
  open();
  join();

  run_->snapshot_now();

  hear(ToScript::kSnapshotNow);
}

TEST_F(ScriptRunTest, SuspendsAScriptOnceItHasStopped) {
  options_.keeps_snapshots = true;
  open();
  join();
  reach(8);

  run_->suspend("somebody else is more urgent");
  hear(ToScript::kSuspend);
  write_snapshot(9);
  tell_suspended(9);
  EXPECT_THAT(hear(ToScript::kExit).exit().reason(), HasSubstr("more urgent"));
  EXPECT_TRUE(turn()) << "its process is still there";
  lose(ExitKind::Finished, {});

  EXPECT_FALSE(turn());
  EXPECT_EQ(timeline().outcome, JobOutcome::Suspended);
  EXPECT_EQ(run_->step(), 9U);
  EXPECT_FALSE(std::filesystem::is_empty(folder_ / "snapshots"));
}

TEST_F(ScriptRunTest, EndsAScriptThatDoesNotStopInTime) {
  options_.suspend_patience = std::chrono::milliseconds(5);
  open();
  join();
  reach(8);

  run_->suspend("suspended");
  turn_until([&] { return launcher_.has_killed(1); });
  lose(ExitKind::KilledByUs, {.signal = SIGKILL});

  EXPECT_EQ(timeline().outcome, JobOutcome::Suspended);
  EXPECT_EQ(run_->step(), 0U) << "there is no snapshot";
}

TEST_F(ScriptRunTest, AScriptThatEndsBeforeItIsSuspendedIsFinished) {
  open();
  join();
  reach(8);

  run_->suspend("suspended");
  lose(ExitKind::Finished, {});

  EXPECT_EQ(timeline().outcome, JobOutcome::Finished);
}

TEST_F(ScriptRunTest, ParksAScriptWithItsProcessAndGoesOn) {
  open();
  join();
  tell_size({.pids = {start_process()}});
  reach(8);

  run_->park();
  hear(ToScript::kSuspend);
  EXPECT_EQ(run_->slots_held(), 2);
  tell_suspended(9);
  turn_until([&] { return run_->is_parked(); });
  EXPECT_EQ(run_->slots_held(), 0);
  EXPECT_EQ(run_->workers_training(), 0);
  run_->resize(2);
  const auto order = hear(ToScript::kSetWorkers).set_workers().order();
  hear(ToScript::kResume);
  tell_size({.pids = {start_process()}, .step = 9, .order = order});

  EXPECT_EQ(run_->slots_held(), 2);
  EXPECT_EQ(last().cause, "resize to 2");
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}));
  EXPECT_TRUE(launcher_.signals.empty());
}

TEST_F(ScriptRunTest, StopsAScriptWhereItIsIfItDoesNotParkByItself) {
  options_.suspend_patience = std::chrono::milliseconds(5);
  options_.patience = std::chrono::milliseconds(50);
  open();
  join();
  reach(8);

  run_->park();
  turn_until([&] { return run_->is_parked(); });
  EXPECT_THAT(launcher_.signals, ElementsAre(std::pair(WorkerId{1}, SIGSTOP)));
  EXPECT_EQ(run_->slots_held(), 0);
  const auto later = std::chrono::steady_clock::now() + 3 * options_.patience;
  turn_until([&] { return std::chrono::steady_clock::now() > later; });  // It must be silent.
  EXPECT_FALSE(launcher_.has_killed(1));
  run_->resize(1);

  EXPECT_EQ(launcher_.signals.back(), std::pair(WorkerId{1}, SIGCONT));
  EXPECT_EQ(run_->slots_held(), 1);
}

TEST_F(ScriptRunTest, AParkedScriptCanBeSuspendedForGood) {
  open();
  join();
  reach(8);
  run_->park();
  write_snapshot(8);
  tell_suspended(8);
  turn_until([&] { return run_->is_parked(); });

  run_->suspend("suspended");
  hear(ToScript::kExit);
  lose(ExitKind::Finished, {});

  EXPECT_FALSE(turn());
  EXPECT_EQ(timeline().outcome, JobOutcome::Suspended);
  EXPECT_EQ(run_->step(), 8U);
}

TEST_F(ScriptRunTest, AResizeTakesASuspensionBack) {
  open();
  join();
  reach(8);

  run_->suspend("suspended");
  run_->resize(2);
  hear(ToScript::kResume);
  tell_suspended(8);  // It had said so before it heard.
  reach(9);

  EXPECT_EQ(timeline().outcome, JobOutcome::Running);
  EXPECT_EQ(run_->workers_training(), 1);
}

TEST_F(ScriptRunTest, MovesALeaderThatMustLeaveItsDevice) {
  open();
  join();
  reach(8);

  run_->resize(2, {WorkerId{1}});
  hear(ToScript::kSuspend);
  write_snapshot(8);
  tell_suspended(8);
  hear(ToScript::kExit);
  lose(ExitKind::Finished, {});

  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}, WorkerId{2}));
  EXPECT_EQ(join(2).resume_step(), 8U);
  EXPECT_EQ(last().lost_steps, 0U);
  EXPECT_FALSE(last().is_forced);
}

TEST_F(ScriptRunTest, StopsAtOnceWhenToldTo) {
  open();
  join();

  run_->stop("interrupted");
  EXPECT_TRUE(launcher_.has_killed(1));
  lose(ExitKind::KilledByUs, {.signal = SIGKILL});

  EXPECT_FALSE(turn());
  EXPECT_EQ(timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(timeline().reason, "interrupted");
}

}  // namespace
}  // namespace rubato::launch::script
