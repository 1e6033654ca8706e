// The conductor with workers that tests play themselves.
#include "rubato/launch/conductor.h"

#include <csignal>
#include <deque>
#include <filesystem>
#include <poll.h>
#include <set>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Starts nothing; remembers what it was asked for.
class PlayedLauncher final : public Launcher {
 public:
  [[nodiscard]] int descriptor() const override { return news_.get(); }
  [[nodiscard]] Status start(const WorkerStart& start) override {
    if (is_unable) {
      return bad_input("no such program");
    }
    started.push_back(start.worker);
    environment = start.environment;
    return ok_status();
  }
  [[nodiscard]] Status signal(WorkerId worker, int number) override {
    if (number == SIGKILL) {
      killed.insert(worker);
    }
    return ok_status();
  }
  [[nodiscard]] std::vector<WorkerEnd> ended() override { return std::exchange(ends, {}); }

  bool is_unable = false;
  std::vector<WorkerId> started{};
  std::set<WorkerId> killed{};
  std::vector<WorkerEnd> ends{};
  Environment environment{};

 private:
  Descriptor news_{::eventfd(0, EFD_CLOEXEC)};
};

/// A job whose workers are played by the test.
class ConductorTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::to_string(::getpid()) + "-" + info->name());
    std::filesystem::create_directories(folder_);
    options_.directory = folder_;
    options_.workers = 2;
    options_.patience = std::chrono::seconds(60);
  }
  void TearDown() override {
    conductor_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open() {
    auto opened = Conductor::open(options_, launcher_, {});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    conductor_ = std::move(*opened);
  }
  bool turn() { return conductor_->turn(std::chrono::milliseconds(1)); }
  template <typename Condition>
  void turn_until(const Condition& holds) {
    while (!holds()) {
      turn();
    }
  }

  // A connection that says hello, with a token of its choice.
  UnixChannel connect(std::uint64_t worker, const std::string& token) {
    auto channel = UnixChannel::connect(launcher_.environment.at("RUBATO_CONDUCTOR"));
    EXPECT_TRUE(channel.ok());
    wire::FromWorker hello;
    hello.mutable_hello()->set_worker(worker);
    hello.mutable_hello()->set_token(std::stoull(token));
    const Descriptor arena(::memfd_create("test-arena", MFD_CLOEXEC));
    EXPECT_TRUE(channel->send(hello.SerializeAsString(), {arena.get()}).ok());
    return std::move(*channel);
  }
  void join(std::uint64_t worker) {
    lines_.emplace(worker, connect(worker, launcher_.environment.at("RUBATO_TOKEN")));
    wire::FromWorker warm;
    warm.mutable_warm();
    say(worker, warm);
    hear(worker, wire::FromConductor::kWelcome);
  }
  void say(std::uint64_t worker, const wire::FromWorker& message) {
    EXPECT_TRUE(lines_.at(worker).send(message.SerializeAsString()).ok());
  }
  void enter(std::uint64_t worker, std::uint64_t generation, std::uint64_t step) {
    wire::FromWorker message;
    message.mutable_entered()->set_generation(generation);
    message.mutable_entered()->set_step(step);
    say(worker, message);
  }
  void beat(std::uint64_t worker, std::uint64_t step) {
    wire::FromWorker message;
    message.mutable_heartbeat()->set_step(step);
    say(worker, message);
  }
  void finish(std::uint64_t worker, std::uint64_t generation) {
    wire::FromWorker message;
    message.mutable_finished()->set_generation(generation);
    message.mutable_finished()->set_step(10);
    say(worker, message);
  }
  void lose(std::uint64_t worker, ExitKind kind, ExitStatus status) {
    launcher_.ends.push_back(
        {.worker = WorkerId{worker}, .cause = {.kind = kind, .status = status}});
    lines_.erase(worker);
    turn();
  }

  // Turns until the conductor says such a thing to the worker.
  wire::FromConductor hear(std::uint64_t worker, wire::FromConductor::KindCase kind) {
    while (true) {
      turn();
      auto frames = lines_.at(worker).receive();
      if (!frames) {
        ADD_FAILURE() << "the conductor has hung up";
        return {};
      }
      for (Frame& frame : *frames) {
        wire::FromConductor message;
        EXPECT_TRUE(message.ParseFromString(frame.bytes));
        heard_[worker].push_back(std::move(message));
      }
      auto& words = heard_[worker];
      while (!words.empty()) {
        wire::FromConductor word = std::move(words.front());
        words.pop_front();
        if (word.kind_case() == kind) {
          return word;
        }
      }
    }
  }
  std::uint64_t hear_generation(std::uint64_t worker) {
    return hear(worker, wire::FromConductor::kGeneration).generation().number();
  }
  // Two workers that train in generation 1.
  void train_both() {
    open();
    join(1);
    join(2);
    EXPECT_EQ(hear_generation(1), 1U);
    enter(1, 1, 0);
    enter(2, 1, 0);
    turn();
    turn_until([&] { return conductor_->timeline().generations[0].entered != Duration{}; });
  }

  std::filesystem::path folder_;
  ConductorOptions options_;
  PlayedLauncher launcher_;
  std::unique_ptr<Conductor> conductor_;
  std::map<std::uint64_t, UnixChannel> lines_;
  std::map<std::uint64_t, std::deque<wire::FromConductor>> heard_;
};

TEST_F(ConductorTest, PublishesAGenerationOnceAllAreWarm) {
  open();
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}, WorkerId{2}));

  join(1);
  join(2);

  const auto generation = hear(2, wire::FromConductor::kGeneration).generation();
  EXPECT_EQ(generation.members_size(), 2);
  EXPECT_THAT(generation.new_arenas(), ElementsAre(1U));
}

TEST_F(ConductorTest, DropsAStrangerWithAnotherToken) {
  open();
  UnixChannel stranger = connect(1, "12345");

  turn_until([&] { return !stranger.receive().ok(); });

  join(1);  // The place is still free.
  EXPECT_TRUE(launcher_.killed.empty());
}

TEST_F(ConductorTest, DropsAStrangerWhoSpeaksNonsense) {
  open();
  auto stranger = UnixChannel::connect(launcher_.environment.at("RUBATO_CONDUCTOR"));
  ASSERT_TRUE(stranger.ok());
  ASSERT_TRUE(stranger->send("\x07nonsense").ok());

  turn_until([&] { return !stranger->receive().ok(); });
}

TEST_F(ConductorTest, IgnoresNonsenseOfAWorker) {
  train_both();

  EXPECT_TRUE(lines_.at(1).send("\x07nonsense").ok());
  beat(1, 5);

  turn_until([&] { return conductor_->timeline().steps == 5; });
  EXPECT_TRUE(launcher_.killed.empty());
}

TEST_F(ConductorTest, KillsAWorkerThatShowsNoSignOfLife) {
  options_.patience = std::chrono::milliseconds(20);
  options_.heartbeat = std::chrono::milliseconds(1);
  train_both();

  turn_until([&] {
    beat(1, 1);
    return launcher_.killed.contains(WorkerId{2});
  });
}

TEST_F(ConductorTest, ReplacesAWorkerThatFreezesBeforeItsFirstWord) {
  options_.start_patience = std::chrono::milliseconds(20);
  open();
  join(1);
  beat(1, 0);

  turn_until([&] { return launcher_.killed.contains(WorkerId{2}); });
  lose(2, ExitKind::KilledByUs, {.signal = SIGKILL});

  EXPECT_FALSE(launcher_.killed.contains(WorkerId{1})) << "it has said something";
  EXPECT_THAT(launcher_.started, ElementsAre(WorkerId{1}, WorkerId{2}, WorkerId{3}));
  EXPECT_THAT(conductor_->timeline().workers[1].cause, HasSubstr("no hello since its start"));
}

TEST_F(ConductorTest, GivesUpAProgramWhoseWorkersNeverSayAWord) {
  options_.start_patience = std::chrono::milliseconds(5);
  options_.workers = 1;
  open();

  for (std::uint64_t worker = 1; worker <= 3; ++worker) {
    EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Running);
    turn_until([&] { return launcher_.killed.contains(WorkerId{worker}); });
    lose(worker, ExitKind::KilledByUs, {.signal = SIGKILL});
  }

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Failed);
  EXPECT_THAT(conductor_->timeline().reason, HasSubstr("no hello since its start"));
}

TEST_F(ConductorTest, KillsAWorkerThatHasHungUpButLivesOn) {
  options_.heartbeat = std::chrono::milliseconds(1);
  train_both();

  lines_.erase(2);

  turn_until([&] { return launcher_.killed.contains(WorkerId{2}); });
}

TEST_F(ConductorTest, CountsOnlyStepsThatAreLost) {
  train_both();
  beat(1, 7);
  turn_until([&] { return conductor_->timeline().steps == 7; });
  lose(1, ExitKind::Signal, {.signal = SIGKILL});
  ASSERT_EQ(hear_generation(2), 1U);
  ASSERT_EQ(hear_generation(2), 2U);

  enter(2, 2, 5);
  turn_until([&] { return conductor_->timeline().generations[1].entered != Duration{}; });

  EXPECT_EQ(conductor_->timeline().generations[1].lost_steps, 2U);
}

TEST_F(ConductorTest, AMemberHeardOfLateHasLostNothing) {
  open();
  join(1);
  join(2);
  ASSERT_EQ(hear_generation(1), 1U);
  enter(1, 1, 0);
  beat(1, 3);
  turn_until([&] { return conductor_->timeline().steps == 3; });

  enter(2, 1, 0);
  beat(2, 4);
  turn_until([&] { return conductor_->timeline().steps == 4; });

  EXPECT_EQ(conductor_->timeline().generations[0].lost_steps, 0U);
}

TEST_F(ConductorTest, GoesOnAfterManyWereKilledFromOutside) {
  options_.workers = 8;
  open();

  for (std::uint64_t worker = 1; worker <= 8; ++worker) {
    lose(worker, ExitKind::Signal, {.signal = SIGKILL});
  }

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Running);
  EXPECT_EQ(launcher_.started.size(), 16U);
}

TEST_F(ConductorTest, GivesUpWhenWorkersAreKilledForEver) {
  options_.workers = 1;
  options_.kills_max = 5;
  open();

  for (std::uint64_t worker = 1; worker <= 5; ++worker) {
    lose(worker, ExitKind::Signal, {.signal = SIGKILL});
  }

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(conductor_->timeline().exit_code, 128 + SIGKILL);
}

TEST_F(ConductorTest, GivesUpAProgramThatFailsThreeTimesWithoutAStep) {
  open();

  lose(1, ExitKind::UserError, {.code = 7});
  lose(2, ExitKind::UserError, {.code = 7});
  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Running);
  lose(3, ExitKind::UserError, {.code = 7});

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(conductor_->timeline().exit_code, 7);
}

TEST_F(ConductorTest, FailsWhereWorkersCannotBeStarted) {
  launcher_.is_unable = true;
  open();

  EXPECT_FALSE(turn());
  EXPECT_EQ(conductor_->timeline().exit_code, 65);
  EXPECT_EQ(conductor_->timeline().reason, "no such program");
}

TEST_F(ConductorTest, SendsANewcomerAwayWhoWaitsForThoseThatHaveFinished) {
  train_both();
  conductor_->resize(3);
  join(3);
  ASSERT_EQ(hear_generation(3), 2U);

  finish(1, 1);
  finish(2, 1);

  hear(3, wire::FromConductor::kExit);
  for (const std::uint64_t worker : {1U, 2U, 3U}) {
    lose(worker, ExitKind::Finished, {});
  }
  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Finished);
  EXPECT_FALSE(turn());
}

TEST_F(ConductorTest, FailsIfTheFirstRankFailsAfterTraining) {
  train_both();
  finish(1, 1);
  turn_until([&] { return conductor_->timeline().outcome == JobOutcome::Finished; });

  lose(1, ExitKind::UserError, {.code = 3});
  finish(2, 1);
  turn();
  lose(2, ExitKind::Finished, {});

  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Failed);
  EXPECT_EQ(conductor_->timeline().exit_code, 3);
  EXPECT_THAT(conductor_->timeline().reason, HasSubstr("worker 1 after training"));
}

TEST_F(ConductorTest, NoticesWorkersThatEndWithDifferentParameters) {
  train_both();
  wire::FromWorker other;
  other.mutable_finished()->set_generation(1);
  other.mutable_finished()->set_parameter_hash(99);

  finish(1, 1);
  say(2, other);

  turn_until([&] { return !conductor_->timeline().hashes_agree; });
}

TEST_F(ConductorTest, SendsAMemberAwayThatCannotFinish) {
  options_.patience = std::chrono::milliseconds(20);
  options_.heartbeat = std::chrono::milliseconds(1);
  train_both();
  finish(1, 1);

  bool is_sent_away = false;
  while (!is_sent_away) {
    beat(1, 10);
    beat(2, 9);
    turn();
    auto frames = lines_.at(2).receive();
    ASSERT_TRUE(frames.ok());
    for (const Frame& frame : *frames) {
      wire::FromConductor message;
      ASSERT_TRUE(message.ParseFromString(frame.bytes));
      is_sent_away = is_sent_away || message.has_exit();
    }
  }
}

TEST_F(ConductorTest, KillsOneThatWasSentAwayAndStays) {
  options_.exit_patience = std::chrono::milliseconds(5);
  train_both();
  conductor_->resize(3);
  join(3);
  finish(1, 1);

  turn_until([&] { return launcher_.killed.contains(WorkerId{3}); });
}

TEST_F(ConductorTest, SuspendsOnceAllHaveParked) {
  options_.keeps_snapshots = true;
  train_both();

  conductor_->suspend("the slots are needed");
  const auto generation = [&] { return hear(1, wire::FromConductor::kGeneration).generation(); };
  EXPECT_EQ(generation().members_size(), 0);
  wire::FromWorker parked;
  parked.mutable_parked()->set_generation(2);
  say(1, parked);
  turn();
  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Running) << "worker 2 may still train";
  say(2, parked);

  EXPECT_EQ(hear(1, wire::FromConductor::kExit).exit().reason(), "the slots are needed");
  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Suspended);
  EXPECT_TRUE(launcher_.killed.empty());
  EXPECT_EQ(conductor_->occupants().size(), 0U) << "who waits is in nobody's way";
}

TEST_F(ConductorTest, DoesNotWaitForeverForAStepThatDoesNotEnd) {
  options_.suspend_patience = std::chrono::milliseconds(5);
  train_both();
  beat(1, 7);
  turn_until([&] { return conductor_->step() == 7; });

  conductor_->suspend("the slots are needed");

  turn_until([&] { return launcher_.killed.size() == 2; });
  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Suspended);
  EXPECT_EQ(conductor_->step(), 0U) << "there is no snapshot";
}

TEST_F(ConductorTest, ReplacesThoseWhoMustGo) {
  train_both();
  EXPECT_EQ(conductor_->workers_training(), 2);

  conductor_->resize(2, {WorkerId{1}});
  join(3);

  const auto generation = hear(3, wire::FromConductor::kGeneration).generation();
  ASSERT_EQ(generation.members_size(), 2);
  EXPECT_EQ(generation.members(0).worker(), 2U);
  EXPECT_EQ(generation.members(1).worker(), 3U);
}

TEST_F(ConductorTest, AsksTheLeaderForASnapshot) {
  train_both();

  conductor_->snapshot_now();

  hear(1, wire::FromConductor::kSnapshotNow);
}

TEST_F(ConductorTest, EndsWithTheReasonOfAProgramThatCannotBeElastic) {
  train_both();
  wire::FromWorker message;
  message.mutable_refused()->set_reason("it draws its own batches");

  say(2, message);

  turn_until([&] { return launcher_.killed.size() == 2; });
  EXPECT_EQ(conductor_->timeline().outcome, JobOutcome::Refused);
  EXPECT_EQ(conductor_->timeline().reason, "it draws its own batches");
}

TEST_F(ConductorTest, KeepsTheTableOfThoseWhoLookForEachOther) {
  train_both();
  wire::FromWorker get;
  get.mutable_table_get()->set_key("address");
  wire::FromWorker set;
  set.mutable_table_set()->set_key("address");
  set.mutable_table_set()->set_value("10.0.0.1");

  say(2, get);
  say(1, set);

  EXPECT_EQ(hear(2, wire::FromConductor::kTableValue).table_value().value(), "10.0.0.1");
}

}  // namespace
}  // namespace rubato
