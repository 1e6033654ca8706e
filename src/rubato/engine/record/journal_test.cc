#include "rubato/engine/record/journal.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

const JournalHeader kStrangeHeader{.policy = "tiresias:thresholds=3250/7200",
                                   .accounting = ResizeCostModel::Artifact,
                                   .slot = std::chrono::seconds{60},
                                   .restart = std::chrono::seconds{30},
                                   .grid = true,
                                   .seed = ~std::uint64_t{0},
                                   .cluster = "16x8:A100+4x4:T4",
                                   .tenants = "a=0.5"};

Job strange_job() {
  return Job{.id = JobId{~std::uint64_t{0}},
             .name = "a name = 100%\nand a \"line\" more\t",
             .tenant = "f\xc3\xa4h",
             .job_class = JobClass::Soft,
             .arrival = Instant{Duration{1}},
             .deadline = Instant{Duration{std::numeric_limits<std::int64_t>::max() - 1}},
             .work = 0.1,
             .model = "bert",
             .batch = 64,
             .batches = {.initial = 32, .max = 4096, .local_min = 3, .local_max = 65},
             .requested = 3,
             .duration = Duration{-5},
             .workers = {.min = 2, .max = 7, .listed = {2, 3, 7}},
             .gpu_type = "A100",
             .region = "north west",
             .data_gb = 12.5,
             .weight = 1.0 / 3,
             .value = {.kind = ValueKind::Steps,
                       .amount = 5e-324,
                       .decay = -0.0,
                       .knee = Duration{7},
                       .steps = {{.within = Duration{1}, .amount = 2},
                                 {.within = Duration{3}, .amount = 1e300}}},
             .speeds = {{.workers = 1, .speed = 0.1}, {.workers = 6, .speed = 1.0 / 3}}};
}

StepObservation strange_step() {
  return {.nodes = 3,
          .workers = 11,
          .local_batch = 48,
          .pass_seconds = 0.1,
          .step_seconds = 1.0 / 3,
          .gradient_squared = 5e-324,
          .gradient_variance = 1e300};
}

std::vector<Event> every_event() {
  return {Completion{.job = JobId{3}, .outcome = Outcome::Cancelled},
          NodeChange{.node = NodeId{4}, .up = true},
          ProgressReport{.job = JobId{5}, .done = 1e-7, .speed = 123456.789, .workers = 6},
          ProgressReport{.job = JobId{5}, .done = 2, .workers = 11, .step = strange_step()},
          OfferReply{.job = JobId{7}, .accepted = true},
          Arrival{.job = strange_job()},
          Arrival{},
          Tick{}};
}

std::vector<Command> every_command() {
  return {Answer{.verdict = {.job = JobId{1},
                             .kind = VerdictKind::Refuse,
                             .reason = Reason::NodesDown,
                             .promised = Instant{Duration{9}},
                             .payment = 2.5}},
          Answer{},
          Run{.job = JobId{2},
              .placement = {.pool = PoolId{1}, .ranges = {{0, 4}, {12, 1}}},
              .pause = Duration{3'904'000}},
          Run{.job = JobId{2},
              .placement = {.ranges = {{0, 4}}},
              .split = {.local = 48, .accumulation = 2}},
          Rebatch{.job = JobId{6}, .split = {.local = 17, .accumulation = 1}},
          Suspend{.job = JobId{3}},
          Stall{.job = JobId{4}, .pause = Duration{2}},
          Wake{.at = Instant{Duration{77}}},
          Wake{},
          Alarm{.fault = "pool 0: 5 GPUs handed out, 4 are up"}};
}

JournalEntry read_back(const std::string& line) {
  const std::string text = header_line(kStrangeHeader) + line;
  auto reader = JournalReader::open(text).value();
  return reader.next().value().value();
}

std::string entry_error(const std::string& line) {
  const std::string text = header_line(kStrangeHeader) + line + "\n";
  auto reader = JournalReader::open(text).value();
  const auto entry = reader.next();
  return entry.ok() ? "no error" : entry.error().message;
}

TEST(Journal, TheHeaderComesBackAsItWas) {
  const std::string line = header_line(kStrangeHeader);

  const auto reader = JournalReader::open(line);

  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->header(), kStrangeHeader);
  EXPECT_EQ(line,
            "rubato-journal/2 policy=tiresias:thresholds=3250/7200 accounting=artifact "
            "slot=60000000 restart=30000000 grid=yes seed=18446744073709551615 "
            "share_profiles=no cluster=16x8:A100+4x4:T4 tenants=a=0.5 placer=\n");
}

TEST(Journal, LinesLookLikeThis) {
  EXPECT_EQ(event_line(Instant{Duration{5}}, Completion{.job = JobId{3}}),
            "event 5 completion job=3 outcome=finished\n");
  EXPECT_EQ(event_line(Instant{}, Tick{}), "event 0 tick\n");
  EXPECT_EQ(command_line(every_command()[2]),
            "command run job=2 pool=1 gpus=0+4,12+1 pause=3904000 local_batch=0 accumulation=0\n");
  EXPECT_EQ(command_line(every_command()[4]),
            "command rebatch job=6 local_batch=17 accumulation=1\n");
  EXPECT_EQ(event_line(Instant{}, ProgressReport{.job = JobId{5}, .done = 2, .workers = 1}),
            "event 0 measured job=5 done=2 speed=0 workers=1 step=no\n");
  EXPECT_EQ(command_line(Wake{}), "command wake at=never\n");
  EXPECT_EQ(command_line(Alarm{.fault = "5%\n"}), "command alarm fault=5%25%0A\n");
}

TEST(Journal, EveryEventComesBackByteForByte) {
  for (const Event& event : every_event()) {
    const std::string line = event_line(Instant{Duration{42}}, event);

    const JournalEntry entry = read_back(line);

    const auto& read = std::get<JournalEvent>(entry);
    EXPECT_EQ(event_line(read.at, read.event), line);
    EXPECT_EQ(read.event.index(), event.index());
  }
}

TEST(Journal, EveryCommandComesBackByteForByte) {
  for (const Command& command : every_command()) {
    const std::string line = command_line(command);

    const JournalEntry entry = read_back(line);

    EXPECT_EQ(command_line(std::get<Command>(entry)), line);
    EXPECT_EQ(std::get<Command>(entry).index(), command.index());
  }
}

TEST(Journal, AJobComesBackComplete) {
  const Job job = strange_job();

  const JournalEntry entry = read_back(event_line(Instant{}, Arrival{.job = job}));

  const Job& read = std::get<Arrival>(std::get<JournalEvent>(entry).event).job;
  EXPECT_EQ(read.id, job.id);
  EXPECT_EQ(read.name, job.name);
  EXPECT_EQ(read.tenant, job.tenant);
  EXPECT_EQ(read.job_class, job.job_class);
  EXPECT_EQ(read.arrival, job.arrival);
  EXPECT_EQ(read.deadline, job.deadline);
  EXPECT_EQ(read.work, job.work);
  EXPECT_EQ(read.model, job.model);
  EXPECT_EQ(read.batch, job.batch);
  EXPECT_EQ(read.batches, job.batches);
  EXPECT_EQ(read.requested, job.requested);
  EXPECT_EQ(read.duration, job.duration);
  EXPECT_EQ(read.workers, job.workers);
  EXPECT_EQ(read.gpu_type, job.gpu_type);
  EXPECT_EQ(read.region, job.region);
  EXPECT_EQ(read.data_gb, job.data_gb);
  EXPECT_EQ(read.weight, job.weight);
  EXPECT_EQ(read.value, job.value);
  EXPECT_EQ(read.speeds, job.speeds);
}

TEST(Journal, AReportComesBackWithItsStepOrWithout) {
  const ProgressReport told{
      .job = JobId{5}, .done = 2, .speed = 3, .workers = 4, .step = strange_step()};

  const JournalEntry with_step = read_back(event_line(Instant{}, told));
  const JournalEntry without =
      read_back(event_line(Instant{}, ProgressReport{.job = JobId{5}, .done = 2}));

  const auto& read = std::get<ProgressReport>(std::get<JournalEvent>(with_step).event);
  ASSERT_TRUE(read.step.has_value());
  EXPECT_EQ(read.workers, 4);
  EXPECT_EQ(read.step->nodes, 3);
  EXPECT_EQ(read.step->workers, 11);
  EXPECT_EQ(read.step->local_batch, 48);
  EXPECT_EQ(read.step->pass_seconds, 0.1);
  EXPECT_EQ(read.step->step_seconds, 1.0 / 3);
  EXPECT_EQ(read.step->gradient_squared, 5e-324);
  EXPECT_EQ(read.step->gradient_variance, 1e300);
  EXPECT_FALSE(std::get<ProgressReport>(std::get<JournalEvent>(without).event).step.has_value());
}

TEST(Journal, BatchesComeBack) {
  const JournalEntry run = read_back(command_line(every_command()[3]));
  const JournalEntry rebatch = read_back(command_line(every_command()[4]));

  EXPECT_EQ(std::get<rubato::Run>(std::get<Command>(run)).split,
            (BatchSplit{.local = 48, .accumulation = 2}));
  EXPECT_EQ(std::get<Rebatch>(std::get<Command>(rebatch)).job, JobId{6});
  EXPECT_EQ(std::get<Rebatch>(std::get<Command>(rebatch)).split,
            (BatchSplit{.local = 17, .accumulation = 1}));
}

TEST(Journal, DoublesComeBackBitForBit) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random.next();
    double done = 0;
    std::memcpy(&done, &bits, sizeof done);
    if (done != done) {
      continue;
    }

    const JournalEntry entry = read_back(event_line(Instant{}, ProgressReport{.done = done}));

    const double read = std::get<ProgressReport>(std::get<JournalEvent>(entry).event).done;
    ASSERT_EQ(std::memcmp(&read, &done, sizeof done), 0) << done;
  }
}

TEST(Journal, WhatIsNoNumberStaysNoNumber) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();

  const JournalEntry entry = read_back(event_line(Instant{}, ProgressReport{.done = nothing}));

  const double read = std::get<ProgressReport>(std::get<JournalEvent>(entry).event).done;
  EXPECT_TRUE(read != read);
}

TEST(Journal, ErrorsNameTheLineAndWhatWasExpected) {
  EXPECT_EQ(entry_error("evnt 0 tick"), "journal:2: 'event' or 'command' expected, 'evnt' found");
  EXPECT_EQ(entry_error("event x tick"), "journal:2: time: 'x' is not a number of microseconds");
  EXPECT_EQ(entry_error("event 0 tock"), "journal:2: unknown kind 'tock'");
  EXPECT_EQ(entry_error("event 0 node node=1"), "journal:2: field 'up' is missing");
  EXPECT_EQ(entry_error("event 0 node up=yes node=1"),
            "journal:2: field 'node' expected, 'up' found");
  EXPECT_EQ(entry_error("event 0 node node=-1 up=yes"),
            "journal:2: node: '-1' is not a whole number");
  EXPECT_EQ(entry_error("event 0 node node=1 up=maybe"),
            "journal:2: up: 'maybe' is not one of no, yes");
  EXPECT_EQ(entry_error("command wake at=soon"),
            "journal:2: at: 'soon' is not a number of microseconds or 'never'");
  EXPECT_EQ(entry_error("command wake at=1 or=2"),
            "journal:2: nothing more expected, 'or=2' found");
  EXPECT_EQ(entry_error("command run job=1 pool=0 gpus=0-4 pause=0"),
            "journal:2: gpus: '0-4' is not a list of FIRST+COUNT");
  EXPECT_EQ(entry_error("command alarm fault=%4"),
            "journal:2: fault: '%4' is not a text with %XX for special characters");
}

TEST(Journal, AnotherVersionIsNotRead) {
  EXPECT_EQ(JournalReader::open("rubato-journal/3 policy=fifo\n").error().message,
            "journal:1: 'rubato-journal/2' expected, 'rubato-journal/3' found");
  EXPECT_EQ(
      JournalReader::open("rubato-journal/1 policy=fifo\n").error().message,
      "journal:1: 'rubato-journal/2' expected, 'rubato-journal/1' found, which older versions "
      "wrote");
}

TEST(Journal, AHeaderThatWasCutIsNotRead) {
  const auto reader = JournalReader::open("rubato-journal/2 policy=fi");

  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().message, "journal:1: 'rubato-journal/2' expected, no whole line found");
}

TEST(Journal, ALastLineThatWasCutIsLeftOut) {
  const std::string text = header_line(kStrangeHeader) + "event 0 tick\nevent 1 ti";
  auto reader = JournalReader::open(text).value();

  const bool first = reader.next().value().has_value();
  const bool second = reader.next().value().has_value();

  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_TRUE(reader.is_cut());
  EXPECT_EQ(reader.line(), 2U);
}

}  // namespace
}  // namespace rubato
