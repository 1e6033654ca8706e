// A simulated run, written down as the live controller would, replays byte for byte.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "rubato/engine/record/replay.h"
#include "rubato/predict/speed_table.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/small_profile_test.h"
#include "rubato/sim/workload.h"
#include "rubato/trace/generate/generator.h"

namespace rubato {
namespace {

constexpr std::uint64_t kSeed = 7;

struct Case {
  std::string policy{};
  ResizeCostModel accounting = ResizeCostModel::None;
  bool is_profiled = false;  // Batches adapt, on two GPU types.
};

std::vector<Case> all_cases() {
  constexpr std::array<std::string_view, 28> kPolicies = {"a-online",
                                                          "afs-l",
                                                          "afs-p",
                                                          "astraea",
                                                          "autoscale",
                                                          "backfill",
                                                          "bandit-pricing",
                                                          "chronus",
                                                          "dps",
                                                          "drf",
                                                          "edf",
                                                          "edf-ac",
                                                          "elasticflow",
                                                          "fifo",
                                                          "gandiva",
                                                          "gavel-ftf",
                                                          "gavel-las",
                                                          "max-min",
                                                          "oasis",
                                                          "optimus",
                                                          "pollux",
                                                          "preemptive-edge",
                                                          "shockwave",
                                                          "sia",
                                                          "srtf",
                                                          "tapfinger-greedy",
                                                          "themis",
                                                          "tiresias"};
  constexpr std::array<std::string_view, 5> kOnProfiles = {"gavel-ftf", "gavel-las", "optimus",
                                                           "pollux", "sia"};
  std::vector<Case> cases;
  for (const ResizeCostModel accounting :
       {ResizeCostModel::None, ResizeCostModel::Artifact, ResizeCostModel::Physical}) {
    for (const std::string_view policy : kPolicies) {
      cases.push_back({.policy = std::string(policy), .accounting = accounting});
    }
    for (const std::string_view policy : kOnProfiles) {
      cases.push_back(
          {.policy = std::string(policy), .accounting = accounting, .is_profiled = true});
    }
  }
  return cases;
}

std::vector<Job> small_workload(SpeedBook& speeds) {
  GeneratorOptions options{
      .jobs = 60, .seed = kSeed, .cluster_gpus = 32, .load = 1.2, .best_effort = 0.2, .soft = 0.2};
  options.models = {{.model = "convnet", .batch = 128}, {.model = "language", .batch = 256}};
  auto generator = Generator::make(options).value();
  std::vector<Job> jobs;
  while (auto job = generator.next()) {
    jobs.push_back(*std::move(job));
  }
  return prepare(std::move(jobs), speeds).jobs;
}

FaultOptions some_faults() {
  return {.node_mtbf = 40'000,
          .node_repair = 1'000,
          .worker_mtbf = 50'000,
          .straggler_mtbf = 30'000,
          .report_every = 1'800,
          .noise = 0.05};
}

/// Where a case runs, and what.
struct RecordedWorld {
  std::string cluster{};
  SpeedBook speeds;
  std::vector<Job> jobs{};
};

RecordedWorld plain_world() {
  RecordedWorld world{.cluster = "4x8:sample",
                      .speeds = SpeedBook(sample_speeds(), Topology::parse("4x8:sample").value())};
  world.jobs = small_workload(world.speeds);
  return world;
}

// Trainings of a measured application, on a type as measured and on one that is twice as fast but
// has room for half as many samples at a time.
RecordedWorld profiled_world() {
  const std::string cluster = "2x2:slow+2x2:fast";
  std::vector<SpeedRow> rows;
  std::map<ProfileKey, ApplicationProfile> profiles;
  for (const std::string type : {"slow", "fast"}) {
    ProfileData data = small_profile().data();
    if (type == "fast") {
      std::erase_if(data.times, [](const StepTime& time) { return time.local_batch > 10; });
      for (StepTime& time : data.times) {
        time.step_seconds /= 2;
        time.sync_seconds /= 2;
      }
    }
    const ApplicationProfile profile(std::move(data));
    for (SpeedRow row : profile.speed_rows("net", 10)) {
      row.gpu_type = type;
      rows.push_back(row);
    }
    profiles.emplace(ProfileKey("net", type), profile);
  }
  RecordedWorld world{.cluster = cluster,
                      .speeds = SpeedBook(std::move(rows), Topology::parse(cluster).value())};
  world.speeds.add(std::move(profiles));
  std::vector<Job> jobs;
  for (std::uint64_t id = 0; id < 80; ++id) {
    jobs.push_back(Job{.id = JobId{id},
                       .arrival = at_seconds(static_cast<double>(id) * 25),
                       .work = small_profile().steps(10),
                       .model = "net",
                       .batch = 10,
                       .batches = small_profile().limits()});
  }
  world.jobs = prepare(std::move(jobs), world.speeds).jobs;
  return world;
}

// What a live controller would have written during this run.
std::string journal_of(const Case& given) {
  const RecordedWorld world = given.is_profiled ? profiled_world() : plain_world();
  const SimOptions options{.policy = given.policy,
                           .accounting = given.accounting,
                           .seed = kSeed,
                           .faults = some_faults()};
  std::string journal = header_line({.policy = given.policy,
                                     .accounting = given.accounting,
                                     .slot = options.slot,
                                     .seed = kSeed,
                                     .cluster = world.cluster});
  journal += speed_lines(JournalSpeeds::of(world.speeds));
  const SimWatcher watcher{
      .on_event = [&](Instant now, const Event& event) { journal += event_line(now, event); },
      .on_command = [&](Instant, const Command& command) { journal += command_line(command); }};
  const auto result =
      simulate(world.jobs, Topology::parse(world.cluster).value(), world.speeds, options, watcher);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return journal;
}

// Nothing but the journal is needed.
Result<ReplayReport> replayed(std::string_view journal) {
  Engine engine = engine_for(journal).value();
  return replay(journal, engine);
}

class JournalOf : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Sim, JournalOf, testing::ValuesIn(all_cases()), [](const auto& given) {
  std::string name = given.param.policy + "_" + std::string(to_string(given.param.accounting)) +
                     (given.param.is_profiled ? "_profiled" : "");
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(JournalOf, ASimulatedRunWithFaultsReplaysByteForByte) {
  const std::string journal = journal_of(GetParam());

  const auto report = replayed(journal);

  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_TRUE(report->same()) << report->difference->line << "\n"
                              << report->difference->recorded << "\n"
                              << report->difference->replayed;
  EXPECT_GT(report->events, 120U);
  EXPECT_GT(report->commands, 120U);
  EXPECT_EQ(report->unrecorded, 0U);
}

TEST_P(JournalOf, ASimulatedRunIsTheSameBytesEachTime) {
  const std::string first = journal_of(GetParam());
  const std::string second = journal_of(GetParam());

  EXPECT_EQ(first, second);
}

TEST(JournalReplay, ChangesOfBatchAreInTheJournal) {
  for (const std::string policy : {"pollux", "sia"}) {
    const std::string journal = journal_of({.policy = policy, .is_profiled = true});
    EXPECT_NE(journal.find("command rebatch"), std::string::npos) << policy;
    EXPECT_NE(journal.find("pool=1"), std::string::npos) << policy;
  }
}

TEST(JournalReplay, WithoutItsProfilesARunDoesNotComeBack) {
  std::string journal = journal_of({.policy = "sia", .is_profiled = true});
  const std::size_t from = journal.find("profile model=");
  journal.erase(from, journal.find("event ") - from);

  const auto report = replayed(journal);

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_FALSE(report->same());
}

TEST(JournalReplay, ATamperedCommandIsReportedWithItsLine) {
  std::string journal = journal_of({.policy = "elasticflow"});
  const std::size_t at = journal.find("command run", journal.size() / 2);
  const auto line =
      1 + std::count(journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  journal.insert(journal.find('\n', at), "0");  // One more digit.

  const auto report = replayed(journal);

  ASSERT_TRUE(report.ok() && !report->same());
  EXPECT_EQ(report->difference->line, static_cast<std::size_t>(line));
}

TEST(JournalReplay, ARunThatWasKilledReplaysUpToItsLastWholeLine) {
  const std::string journal = journal_of({.policy = "elasticflow"});
  const std::size_t whole = journal.rfind('\n', journal.size() / 2) + 1;

  const auto report = replayed(std::string_view(journal).substr(0, whole + 5));

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->same());
  EXPECT_TRUE(report->is_cut);
}

}  // namespace
}  // namespace rubato
