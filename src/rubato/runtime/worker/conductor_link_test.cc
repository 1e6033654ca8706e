#include "rubato/runtime/worker/conductor_link.h"

#include <future>

#include "rubato/runtime/shared_memory/arena.h"
#include "rubato/runtime/worker/scripted_conductor_test.h"

namespace rubato {
namespace {

using Kind = wire::FromWorker::KindCase;

/// One worker's line, without the worker.
class ConductorLinkTest : public testing::Test {
 protected:
  void open() {
    auto opening = std::async(std::launch::async, [&] {
      return ConductorLink::open({.socket = conductor_.path(),
                                  .worker = 3,
                                  .token = 9,
                                  .host = "here",
                                  .arena = arena_.descriptor(),
                                  .parameter_bytes = 8,
                                  .floats = 2},
                                 inbox_, pulse_);
    });
    hello_ = conductor_.take_worker();
    auto link = opening.get();
    ASSERT_TRUE(link.ok());
    link_ = std::move(*link);
  }

  ScriptedConductor conductor_;
  Arena arena_ = std::move(*Arena::create({.parameter_bytes = 8, .floats = 2}));
  GroupInbox inbox_;
  WorkerPulse pulse_;
  wire::Hello hello_;
  std::unique_ptr<ConductorLink> link_;
};

TEST_F(ConductorLinkTest, SaysWhoItIsAndHearsHowTheJobIsRun) {
  conductor_.welcome.set_snapshot_steps(50);

  open();

  EXPECT_EQ(hello_.worker(), 3U);
  EXPECT_EQ(hello_.token(), 9U);
  EXPECT_EQ(hello_.host(), "here");
  EXPECT_EQ(hello_.pid(), ::getpid());
  EXPECT_EQ(hello_.parameter_bytes(), 8U);
  EXPECT_EQ(hello_.gradient_floats(), 2U);
  EXPECT_EQ(link_->welcome().snapshot_steps(), 50U);
  EXPECT_EQ(link_->welcome().seed(), 5U);
}

TEST_F(ConductorLinkTest, SendsProgressWithEachSignOfLife) {
  open();

  pulse_.stand_at(12, 1, 64);
  pulse_.count_step({.compute_seconds = 2}, 64, 0.5);

  wire::Heartbeat heartbeat;
  while (heartbeat.steps() == 0) {
    heartbeat = conductor_.hear(3, Kind::kHeartbeat).heartbeat();
  }
  EXPECT_EQ(heartbeat.step(), 12U);
  EXPECT_EQ(heartbeat.epoch(), 1U);
  EXPECT_EQ(heartbeat.batch(), 64U);
  EXPECT_EQ(heartbeat.samples(), 64U);
  EXPECT_EQ(heartbeat.loss(), 0.5);
  EXPECT_EQ(heartbeat.compute_seconds(), 2);
  EXPECT_EQ(conductor_.hear(3, Kind::kHeartbeat).heartbeat().steps(), 0U) << "counted once";
}

TEST_F(ConductorLinkTest, PutsGenerationsIntoTheInboxWithTheirMemory) {
  open();
  const Descriptor snapshot(::memfd_create("test-snapshot", MFD_CLOEXEC));

  conductor_.publish({.number = 4,
                      .members = {3},
                      .is_forced = true,
                      .snapshot = snapshot.get(),
                      .snapshot_bytes = 100,
                      .snapshot_step = 7});

  const auto post = inbox_.take();
  ASSERT_TRUE(post.has_value());
  EXPECT_EQ(post->number, 4U);
  EXPECT_TRUE(post->is_forced);
  ASSERT_EQ(post->members.size(), 1U);
  EXPECT_EQ(post->members[0].worker, 3U);
  EXPECT_TRUE(post->meeting.is_open());
  EXPECT_TRUE(post->snapshot.is_open());
  EXPECT_EQ(post->snapshot_bytes, 100U);
  EXPECT_EQ(post->snapshot_step, 7U);
}

TEST_F(ConductorLinkTest, LooksUpWhatOthersHaveSet) {
  open();
  auto looked_up = std::async(std::launch::async,
                              [&] { return link_->get("address", std::chrono::seconds(60)); });

  EXPECT_EQ(conductor_.hear(3, Kind::kTableGet).table_get().key(), "address");
  wire::FromConductor answer;
  answer.mutable_table_value()->set_key("address");
  answer.mutable_table_value()->set_value("10.0.0.1");
  conductor_.send(3, answer);

  EXPECT_EQ(*looked_up.get(), "10.0.0.1");
  EXPECT_EQ(link_->get("nobody", Duration{1}).error().code, ErrorCode::NotFound);
}

TEST_F(ConductorLinkTest, PassesOnWhichSnapshotsAreWantedAndWhichAreNot) {
  open();
  wire::FromConductor wanted;
  wanted.mutable_snapshot_now();
  wire::FromConductor freed;
  freed.mutable_snapshot_free()->set_slot(2);
  wire::FromConductor exit;
  exit.mutable_exit();
  conductor_.send(3, wanted);
  conductor_.send(3, freed);
  conductor_.send(3, exit);
  ASSERT_FALSE(inbox_.take().has_value()) << "waits for the last of them";

  EXPECT_TRUE(link_->take_snapshot_request());
  EXPECT_FALSE(link_->take_snapshot_request());
  EXPECT_EQ(link_->take_free_snapshots(), std::vector<std::uint32_t>{2});
  EXPECT_EQ(inbox_.ended(), InboxEnd::Exit);
}

TEST_F(ConductorLinkTest, ALostConductorEndsAllWaiting) {
  open();
  auto looked_up = std::async(std::launch::async,
                              [&] { return link_->get("address", std::chrono::seconds(60)); });
  conductor_.hear(3, Kind::kTableGet);

  conductor_.hang_up(3);

  EXPECT_EQ(looked_up.get().error().code, ErrorCode::Io);
  EXPECT_FALSE(inbox_.take().has_value());
  EXPECT_EQ(inbox_.ended(), InboxEnd::ConductorLost);
}

TEST_F(ConductorLinkTest, HangsUpOnAConductorThatSpeaksNonsense) {
  open();

  conductor_.send_bytes(3, "\x07nonsense");

  EXPECT_FALSE(inbox_.take().has_value());
  EXPECT_EQ(inbox_.ended(), InboxEnd::ConductorLost);
}

TEST_F(ConductorLinkTest, FailsWhereNobodyListens) {
  const auto link = ConductorLink::open(
      {.socket = conductor_.path() + "-elsewhere", .arena = arena_.descriptor()}, inbox_, pulse_);

  EXPECT_FALSE(link.ok());
}

}  // namespace
}  // namespace rubato
