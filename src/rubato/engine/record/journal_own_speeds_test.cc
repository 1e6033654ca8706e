// Jobs that say how fast they are, in journals.
#include <string>

#include <gtest/gtest.h>

#include "rubato/engine/record/replay.h"
#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {
namespace {

const JournalHeader kPromisingHeader{.policy = "elasticflow",
                                     .accounting = ResizeCostModel::None,
                                     .slot = std::chrono::seconds{1},
                                     .cluster = "1x4"};

Engine promising_engine() { return engine_for(kPromisingHeader, {}).value(); }

// The line of an arrival, without its end, and what is wrong with it after `more`.
std::string arrival_without_end() {
  std::string line = event_line(Instant{}, Arrival{});
  line.pop_back();
  return line;
}

std::string problem_with(const std::string& more) {
  const std::string text = header_line(kPromisingHeader) + arrival_without_end() + more + "\n";
  auto reader = JournalReader::open(text).value();
  const auto entry = reader.next();
  return entry.ok() ? "no error" : entry.error().message;
}

TEST(JournalOwnSpeeds, AreTheLastFieldOfAJobThatHasSome) {
  Job job;
  job.speeds = {{.workers = 1, .speed = 10}, {.workers = 2, .speed = 19.5}};

  const std::string line = event_line(Instant{}, Arrival{.job = job});

  EXPECT_EQ(arrival_without_end().find("speeds"), std::string::npos);
  EXPECT_EQ(line, arrival_without_end() + " speeds=1:10,2:19.5\n");
}

TEST(JournalOwnSpeeds, ThatCannotBeAreErrors) {
  for (const std::string bad : {"", "1", "1:0", "1:-2", "0:1", "1:nan", "1:inf", "2:1,1:2",
                                "1:1,1:2", "1:1,,2:2", "1:x", "99999999999:1"}) {
    EXPECT_EQ(problem_with(" speeds=" + bad),
              "journal:2: speeds: '" + bad +
                  "' is not a list of WORKERS:STEPS_PER_SECOND, positive and with rising workers");
  }
  EXPECT_EQ(problem_with(" speed=1:2"), "journal:2: nothing more expected, 'speed=1:2' found");
  EXPECT_EQ(problem_with(" speeds=1:2"), "no error");
}

TEST(JournalOwnSpeeds, ThatCannotBeAreNotUsed) {
  Engine engine = promising_engine();
  Job odd = job(1, 400);
  odd.speeds = {{.workers = 2, .speed = 10}, {.workers = 1, .speed = 20}};

  const Commands commands = engine.on(at(0), Arrival{.job = odd});

  ASSERT_EQ(only<Alarm>(commands).size(), 1U);
  EXPECT_EQ(only<Alarm>(commands)[0].fault,
            "job 1 states speeds that cannot be; they are not used");
  EXPECT_TRUE(engine.state().jobs.at(JobId{1}).job.speeds.empty());
  EXPECT_EQ(engine.quote(at(0), odd).provenance, Provenance::Assumed);
}

TEST(JournalOwnSpeeds, ComeBackWithTheRunThatRestedOnThem) {
  Job own = due(20, job(1, 400));  // Ten seconds on all workers; as assumed it would be late.
  own.speeds = {{.workers = 1, .speed = 10}, {.workers = 4, .speed = 40}};
  Engine recorded = promising_engine();
  std::string text = header_line(kPromisingHeader);
  for (const Event& event : {Event(Arrival{.job = own}), Event(Tick{})}) {
    text += event_line(at(0), event);
    for (const Command& command : recorded.on(at(0), event)) {
      text += command_line(command);
    }
  }
  std::string tampered = text;
  tampered.replace(tampered.find(" speeds=1:10,4:40"), 17, " speeds=1:1,4:4");
  Engine engine = promising_engine();
  Engine other = promising_engine();

  const auto report = replay(text, engine);
  const auto difference = replay(tampered, other);

  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->same());
  EXPECT_GT(engine.state().jobs.at(JobId{1}).share, 0);
  EXPECT_EQ(engine.state().jobs.at(JobId{1}).job.speeds, own.speeds);
  ASSERT_TRUE(difference.ok());
  EXPECT_FALSE(difference->same());
}

}  // namespace
}  // namespace rubato
