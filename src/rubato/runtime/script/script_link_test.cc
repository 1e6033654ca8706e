#include "rubato/runtime/script/script_link.h"

#include <cmath>
#include <csignal>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "rubato/runtime/script/played_supervisor_test.h"

namespace rubato::runtime::script {
namespace {

using ScriptKind = wire::script::FromScript::KindCase;

constexpr std::uint64_t kWorker = 3;
constexpr std::uint64_t kToken = 9;

class ScriptLinkTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  void connect(Duration grace = kShrinkGrace, int resume_memory = -1) {
    auto connecting = std::async(std::launch::async, [&] {
      return ScriptLink::connect({.socket = supervisor_.path(), .worker = kWorker, .token = kToken},
                                 grace);
    });
    hello_ = supervisor_.take_leader(resume_memory);
    auto link = connecting.get();
    ASSERT_TRUE(link.ok()) << link.error().message;
    link_ = std::move(*link);
  }
  template <typename Condition>
  static void wait_until(const Condition& holds) {
    while (!holds()) {
      std::this_thread::yield();
    }
  }
  pid_t start_replica() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) {
        ::pause();
      }
    }
    pids_.push_back(pid);
    return pid;
  }

  PlayedSupervisor supervisor_;
  wire::script::Hello hello_;
  std::unique_ptr<ScriptLink> link_;
  std::vector<pid_t> pids_{};
};

TEST_F(ScriptLinkTest, SaysWhoItIsAndHearsHowTheJobIsRun) {
  supervisor_.welcome.set_workers(4);
  supervisor_.welcome.set_order(2);
  supervisor_.welcome.set_seed(5);
  supervisor_.welcome.set_steps_declared(100);

  connect();

  EXPECT_EQ(hello_.version(), kScriptProtocol);
  EXPECT_EQ(hello_.worker(), kWorker);
  EXPECT_EQ(hello_.token(), kToken);
  EXPECT_EQ(hello_.pid(), ::getpid());
  EXPECT_EQ(link_->wanted().workers, 4U);
  EXPECT_EQ(link_->wanted().order, 2U);
  EXPECT_EQ(link_->welcome().seed(), 5U);
  EXPECT_EQ(link_->welcome().steps_declared(), 100U);
}

TEST_F(ScriptLinkTest, FailsIfNobodyListens) {
  const auto link = ScriptLink::connect({.socket = "/nowhere/conductor"});

  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.error().code, ErrorCode::Io);
}

TEST_F(ScriptLinkTest, TakesOrdersWithoutBeingAsked) {
  connect();

  supervisor_.set_workers(3, 7);

  wait_until([&] { return link_->wanted().workers == 3; });
  EXPECT_EQ(link_->wanted().order, 7U);
}

TEST_F(ScriptLinkTest, ShowsThatItLivesAndHowFarItIs) {
  connect();

  link_->report_step(12, 0.5);

  const auto alive = supervisor_.hear_alive([](const auto& said) { return said.step() == 12; });
  EXPECT_EQ(alive.loss(), 0.5);
  EXPECT_TRUE(alive.has_loss());
  EXPECT_EQ(alive.workers(), 1U);
}

TEST_F(ScriptLinkTest, KeepsTheLastLossThatIsKnown) {
  connect();

  link_->report_step(1, 0.5);
  link_->report_step(2, std::nan(""));

  const auto alive = supervisor_.hear_alive([](const auto& said) { return said.step() == 2; });
  EXPECT_EQ(alive.loss(), 0.5);
}

TEST_F(ScriptLinkTest, CountsEpochsByThePlan) {
  connect();

  link_->set_plan(40, 10);
  link_->report_step(25, 0);

  const auto plan = supervisor_.hear(ScriptKind::kPlan).plan();
  EXPECT_EQ(plan.steps(), 40U);
  EXPECT_EQ(plan.steps_per_epoch(), 10U);
  EXPECT_EQ(supervisor_.hear_alive([](const auto& said) { return said.step() == 25; }).epoch(), 2U);
}

TEST_F(ScriptLinkTest, TellsOfMilestonesAtOnceAndOnce) {
  supervisor_.welcome.set_heartbeat_us(std::int64_t{3600} * 1'000'000);
  supervisor_.welcome.add_milestones(10);
  supervisor_.welcome.add_milestones(20);
  connect();

  link_->report_step(9, 0);
  link_->report_step(11, 0);
  link_->report_step(12, 0);
  link_->report_step(20, 0);

  EXPECT_EQ(supervisor_.hear(ScriptKind::kReached).reached().step(), 11U);
  EXPECT_EQ(supervisor_.hear(ScriptKind::kReached).reached().step(), 20U);
}

TEST_F(ScriptLinkTest, TellsTheFirstStepAfterAChangeOfSizeAtOnce) {
  supervisor_.welcome.set_heartbeat_us(std::int64_t{3600} * 1'000'000);
  connect();

  link_->report_resize({.workers = 2, .pause_seconds = 0.004, .step = 5, .cause = "why"});
  link_->report_step(6, 0);

  const auto resized = supervisor_.hear(ScriptKind::kResized).resized();
  EXPECT_EQ(resized.workers(), 2U);
  EXPECT_EQ(resized.pause_us(), 4000);
  EXPECT_EQ(resized.step(), 5U);
  EXPECT_EQ(resized.cause(), "why");
  EXPECT_EQ(supervisor_.hear_alive([](const auto& said) { return said.step() == 6; }).workers(),
            2U);
}

TEST_F(ScriptLinkTest, AsksForASnapshotAfterEverySoManySteps) {
  supervisor_.welcome.set_snapshot_steps(10);
  connect();

  link_->report_step(9, 0);
  EXPECT_FALSE(link_->take_snapshot_request());
  link_->report_step(10, 0);
  EXPECT_TRUE(link_->take_snapshot_request());
  EXPECT_FALSE(link_->take_snapshot_request());
  link_->report_step(31, 0);
  EXPECT_TRUE(link_->take_snapshot_request());
}

TEST_F(ScriptLinkTest, AsksForASnapshotWhenToldTo) {
  connect();

  wire::script::ToScript message;
  message.mutable_snapshot_now();
  supervisor_.say(message);

  wait_until([&] { return link_->take_snapshot_request(); });
}

TEST_F(ScriptLinkTest, HandsOverSnapshotsAndUsesTheirMemoryAgain) {
  connect();
  const std::string state = "weights";

  ASSERT_TRUE(link_->write_snapshot(4, std::as_bytes(std::span(state))).ok());
  const auto first = supervisor_.hear(ScriptKind::kSnapshotWritten).snapshot_written();
  ASSERT_EQ(supervisor_.lent.size(), 1U);
  EXPECT_EQ(first.step(), 4U);
  EXPECT_EQ(*read_state(supervisor_.lent[0].get(), first.bytes()), state);
  wire::script::ToScript message;
  message.mutable_snapshot_free()->set_slot(first.slot());
  supervisor_.say(message);
  supervisor_.set_workers(2, 2);
  wait_until([&] { return link_->wanted().order == 2; });  // Then the word before was heard too.

  ASSERT_TRUE(link_->write_snapshot(5, std::as_bytes(std::span(state))).ok());
  const auto second = supervisor_.hear(ScriptKind::kSnapshotWritten).snapshot_written();

  EXPECT_EQ(second.slot(), first.slot());
}

TEST_F(ScriptLinkTest, ResumesFromWhatItIsGiven) {
  SnapshotBuffers buffers;
  const std::string state = "weights";
  const auto written = buffers.write(40, std::as_bytes(std::span(state)));
  supervisor_.welcome.set_resume_bytes(written->bytes);
  supervisor_.welcome.set_resume_step(40);
  supervisor_.welcome.set_snapshot_steps(25);

  connect(kShrinkGrace, written->memory);

  EXPECT_EQ(**link_->resume_state(), state);
  EXPECT_EQ(supervisor_.hear(ScriptKind::kAlive).alive().step(), 40U);
  link_->report_step(49, 0);
  EXPECT_FALSE(link_->take_snapshot_request());
  link_->report_step(50, 0);
  EXPECT_TRUE(link_->take_snapshot_request());
}

TEST_F(ScriptLinkTest, HasNothingToResumeFromAtFirst) {
  connect();

  EXPECT_FALSE(link_->resume_state()->has_value());
}

TEST_F(ScriptLinkTest, WaitsWhileItIsSuspended) {
  connect();
  wire::script::ToScript message;
  message.mutable_suspend();
  supervisor_.say(message);
  wait_until([&] { return link_->wants_suspend(); });

  auto waiting = std::async(std::launch::async, [&] {
    link_->report_suspended(8);
    return link_->wait_resume();
  });
  EXPECT_EQ(supervisor_.hear(ScriptKind::kSuspended).suspended().step(), 8U);
  message.mutable_resume();
  supervisor_.say(message);

  EXPECT_TRUE(waiting.get());
  EXPECT_FALSE(link_->wants_suspend());
}

TEST_F(ScriptLinkTest, SaysAgainThatItIsSuspendedIfItStillIs) {
  connect();
  link_->report_step(8, 0);
  wire::script::ToScript suspend;
  suspend.mutable_suspend();
  supervisor_.say(suspend);
  wait_until([&] { return link_->wants_suspend(); });
  auto waiting = std::async(std::launch::async, [&] { return link_->wait_resume(); });

  // Until it waits, the word may come too early to be answered.
  bool is_told = false;
  while (!is_told) {
    supervisor_.say(suspend);
    wire::script::FromScript said;
    while (!said.has_alive() && !is_told) {
      said = supervisor_.hear_any();
      is_told = said.has_suspended();
    }
  }
  wire::script::ToScript message;
  message.mutable_exit()->set_reason("enough");
  supervisor_.say(message);

  EXPECT_FALSE(waiting.get());
  EXPECT_EQ(link_->exit_reason(), "enough");
}

TEST_F(ScriptLinkTest, LeavesIfTheOtherSideIsGone) {
  connect();
  wire::script::ToScript message;
  message.mutable_suspend();
  supervisor_.say(message);
  wait_until([&] { return link_->wants_suspend(); });

  supervisor_.hang_up();

  EXPECT_FALSE(link_->wait_resume());
  EXPECT_EQ(link_->exit_reason(), "the program that runs this job is gone");
}

TEST_F(ScriptLinkTest, EndsReplicasThatAreTooManyIfTheScriptDoesNot) {
  supervisor_.welcome.set_workers(3);
  connect(std::chrono::milliseconds(1));
  const pid_t older = start_replica();
  const pid_t younger = start_replica();
  link_->report_resize({.workers = 3, .pids = {older, younger}});

  supervisor_.set_workers(2, 2);

  EXPECT_EQ(supervisor_.hear_alive([](const auto& said) { return said.workers() == 2; }).workers(),
            2U);
  int status = 0;
  EXPECT_EQ(::waitpid(younger, &status, 0), younger);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(::waitpid(older, &status, WNOHANG), 0);
  std::erase(pids_, younger);
}

TEST_F(ScriptLinkTest, EndsAllReplicasOfAScriptThatIsToBeSuspended) {
  supervisor_.welcome.set_workers(2);
  connect(std::chrono::milliseconds(1));
  const pid_t replica = start_replica();
  link_->report_resize({.workers = 2, .pids = {replica}});

  wire::script::ToScript message;
  message.mutable_suspend();
  supervisor_.say(message);

  supervisor_.hear_alive([](const auto& said) { return said.workers() == 1; });
  int status = 0;
  EXPECT_EQ(::waitpid(replica, &status, 0), replica);
  pids_.clear();
}

TEST_F(ScriptLinkTest, LeavesReplicasAloneThatTheScriptEndsInTime) {
  supervisor_.welcome.set_workers(2);
  connect(std::chrono::hours(1));
  const pid_t replica = start_replica();
  link_->report_resize({.workers = 2, .pids = {replica}});

  supervisor_.set_workers(1, 2);
  wait_until([&] { return link_->wanted().workers == 1; });
  link_->report_resize({.workers = 1, .step = 3});

  auto resized = supervisor_.hear(ScriptKind::kResized).resized();
  EXPECT_EQ(resized.pids_size(), 1);
  resized = supervisor_.hear(ScriptKind::kResized).resized();
  EXPECT_EQ(resized.order(), 2U);
  EXPECT_EQ(resized.workers(), 1U);
  EXPECT_EQ(::waitpid(replica, nullptr, WNOHANG), 0);
}

TEST_F(ScriptLinkTest, PassesOnWhatTheScriptHasToSay) {
  connect();
  const std::vector<MetricReport> points{{.name = "accuracy", .value = 0.9, .step = 4}};

  link_->report_profile({.workers = 2, .steps = 10, .seconds = 0.5});
  link_->tell_notice("unsplit", "forward changes the buffer queue");
  link_->report_metrics(points);
  link_->report_memory({.worker_bytes = 812, .batch = 512, .pieces = 4, .piece_rows = 128});
  link_->report_finished({.step = 11, .parameter_hash = 77, .loss = 0.25});

  const auto profile = supervisor_.hear(ScriptKind::kProfile).profile();
  EXPECT_EQ(profile.workers(), 2U);
  EXPECT_EQ(profile.steps(), 10U);
  EXPECT_EQ(profile.total_seconds(), 0.5);
  const auto notice = supervisor_.hear(ScriptKind::kNotice).notice();
  EXPECT_EQ(notice.key(), "unsplit");
  EXPECT_EQ(notice.text(), "forward changes the buffer queue");
  const auto metrics = supervisor_.hear(ScriptKind::kMetrics).metrics();
  ASSERT_EQ(metrics.points_size(), 1);
  EXPECT_EQ(metrics.points(0).name(), "accuracy");
  EXPECT_EQ(metrics.points(0).step(), 4U);
  const auto memory = supervisor_.hear(ScriptKind::kMemory).memory();
  EXPECT_EQ(memory.worker_bytes(), 812U);
  EXPECT_EQ(memory.pieces(), 4U);
  EXPECT_EQ(memory.piece_rows(), 128U);
  const auto finished = supervisor_.hear(ScriptKind::kFinished).finished();
  EXPECT_EQ(finished.parameter_hash(), 77U);
  EXPECT_EQ(finished.step(), 11U);
}

// A fork of the leader that takes its place: nothing of the old connection is used.
TEST_F(ScriptLinkTest, ACopyOfTheLeaderConnectsUnderItsName) {
  connect();
  link_->report_step(6, 0);

  const pid_t copy = ::fork();
  if (copy == 0) {
    const bool is_connected = link_->after_fork().ok() && link_->wanted().workers == 5;
    link_->report_finished({.step = 7});
    link_->close();
    ::_exit(is_connected ? 0 : 1);
  }
  supervisor_.welcome.set_workers(5);
  const auto hello = supervisor_.take_leader();
  const auto finished = supervisor_.hear(ScriptKind::kFinished).finished();
  int status = 0;
  ::waitpid(copy, &status, 0);

  EXPECT_EQ(hello.worker(), kWorker);
  EXPECT_EQ(hello.token(), kToken);
  EXPECT_EQ(hello.pid(), copy);
  EXPECT_EQ(hello.step(), 6U);
  EXPECT_EQ(finished.step(), 7U);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ScriptLinkTest, AChildThatDestroysItHarmsNobody) {
  connect();

  const pid_t child = ::fork();
  if (child == 0) {
    link_->report_step(99, 0);
    link_->report_finished({.step = 99});
    link_.reset();
    ::_exit(0);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  link_->report_finished({.step = 5});

  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(supervisor_.hear(ScriptKind::kFinished).finished().step(), 5U);
}

TEST_F(ScriptLinkTest, NamesWhatItHasOpen) {
  connect();
  const pid_t replica = start_replica();
  const std::size_t before = link_->descriptors().size();

  link_->set_replicas(std::vector{replica});

  EXPECT_EQ(link_->descriptors().size(), before + 1);
  EXPECT_GT(link_->thread_id(), 0);
  EXPECT_NE(link_->thread_id(), ::getpid());
  link_->close();
  EXPECT_TRUE(link_->descriptors().empty());
}

}  // namespace
}  // namespace rubato::runtime::script
