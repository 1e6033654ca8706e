#include "rubato/engine/record/replay.h"

#include <gtest/gtest.h>

#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {
namespace {

const JournalHeader kFifoHeader{.policy = "fifo",
                                .accounting = ResizeCostModel::None,
                                .slot = std::chrono::seconds{1},
                                .cluster = "1x4"};

Engine fresh() { return engine_for(kFifoHeader, {.rows = test_speeds()}).value(); }

// Two jobs that run one after the other on all GPUs.
std::string journal() {
  Engine engine = fresh();
  std::string text = header_line(kFifoHeader);
  const auto feed = [&](double now, const Event& event) {
    text += event_line(at(now), event);
    for (const Command& command : engine.on(at(now), event)) {
      text += command_line(command);
    }
  };
  for (std::uint64_t id = 1; id <= 2; ++id) {
    Job wide = job(id, 40);
    wide.requested = 4;
    feed(0, Arrival{.job = wide});
  }
  feed(0, Tick{});
  feed(10, Completion{.job = JobId{1}});
  feed(10, Tick{});
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Replay, OfAnUntouchedJournalFindsNoDifference) {
  Engine engine = fresh();

  const auto report = replay(journal(), engine);

  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->same());
  EXPECT_EQ(report->events, 5U);
  EXPECT_EQ(report->unrecorded, 0U);
  EXPECT_FALSE(report->is_cut);
  EXPECT_EQ(engine.state().jobs.at(JobId{2}).share, 4);
}

TEST(Replay, ReportsATamperedCommandWithItsLine) {
  const std::string text = replaced(journal(), "gpus=0+4", "gpus=0+3");
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_TRUE(report.ok() && report->difference.has_value());
  EXPECT_EQ(report->difference->line, 8U);
  EXPECT_EQ(report->difference->recorded,
            "command run job=1 pool=0 gpus=0+3 pause=0 local_batch=0 accumulation=0");
  EXPECT_EQ(report->difference->replayed,
            "command run job=1 pool=0 gpus=0+4 pause=0 local_batch=0 accumulation=0");
}

TEST(Replay, ReportsACommandThatWasTakenOut) {
  const std::string text = replaced(
      journal(), "command run job=1 pool=0 gpus=0+4 pause=0 local_batch=0 accumulation=0\n", "");
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_TRUE(report.ok() && report->difference.has_value());
  EXPECT_EQ(report->difference->line, 8U);
  EXPECT_EQ(report->difference->replayed,
            "command run job=1 pool=0 gpus=0+4 pause=0 local_batch=0 accumulation=0");
}

TEST(Replay, ReportsACommandThatWasPutIn) {
  const std::string text = replaced(journal(), "event 10000000 completion",
                                    "command wake at=5\nevent 10000000 completion");
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_TRUE(report.ok() && report->difference.has_value());
  EXPECT_EQ(report->difference->recorded, "command wake at=5");
  EXPECT_EQ(report->difference->replayed, "");
}

TEST(Replay, ReportsATamperedEventByWhatFollowsFromIt) {
  const std::string text = replaced(journal(), "requested=4", "requested=2");
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->same());
}

TEST(Replay, FailsOnAnEventThatCannotBeRead) {
  const std::string text = replaced(journal(), "outcome=finished", "outcome=vanished");
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message,
            "journal:9: outcome: 'vanished' is not one of finished, failed, cancelled");
}

TEST(Replay, FailsWhenTimeRunsBackwards) {
  const std::string text = journal() + "event 9000000 tick\n";
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "journal:13: time runs backwards, from 10000000 to 9000000");
}

TEST(Replay, ToleratesAJournalCutAtAnyByteAfterItsHeader) {
  const std::string text = journal();
  for (std::size_t end = text.find('\n') + 1; end < text.size(); ++end) {
    Engine engine = fresh();

    const auto report = replay(text.substr(0, end), engine);

    ASSERT_TRUE(report.ok()) << "cut at " << end << ": " << report.error().message;
    EXPECT_TRUE(report->same()) << "cut at " << end;
    EXPECT_EQ(report->is_cut, text[end - 1] != '\n') << "cut at " << end;
  }
}

TEST(Replay, CountsTheCommandsThatWereNotWrittenAnyMore) {
  std::string text = journal();
  text.resize(text.rfind("command"));
  Engine engine = fresh();

  const auto report = replay(text, engine);

  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->same());
  EXPECT_EQ(report->unrecorded, 1U);
}

TEST(Replay, AnEngineIsNotMadeForAHeaderThatIsWrong) {
  JournalHeader no_cluster = kFifoHeader;
  no_cluster.cluster = "big";
  JournalHeader no_policy = kFifoHeader;
  no_policy.policy = "fiffo";

  EXPECT_FALSE(engine_for(no_cluster, {}).ok());
  EXPECT_FALSE(engine_for(no_policy, {}).ok());
}

}  // namespace
}  // namespace rubato
