// A simulated run, written down as the live controller would, replays byte for byte.
#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "rubato/engine/replay.h"
#include "rubato/predict/speed_table.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"
#include "rubato/trace/generator.h"

namespace rubato {
namespace {

constexpr std::string_view kCluster = "4x8:sample";
constexpr std::uint64_t kSeed = 7;

struct Case {
  std::string policy{};
  Accounting accounting = Accounting::None;
};

std::vector<Case> all_cases() {
  constexpr std::array<std::string_view, 23> kPolicies = {
      "a-online",        "afs-l",     "afs-p",   "astraea",   "autoscale", "backfill",
      "bandit-pricing",  "chronus",   "dps",     "drf",       "edf",       "edf-ac",
      "elasticflow",     "fifo",      "gandiva", "gavel-ftf", "gavel-las", "oasis",
      "preemptive-edge", "shockwave", "srtf",    "themis",    "tiresias"};
  std::vector<Case> cases;
  for (const std::string_view policy : kPolicies) {
    for (const Accounting accounting :
         {Accounting::None, Accounting::Artifact, Accounting::Physical}) {
      cases.push_back({.policy = std::string(policy), .accounting = accounting});
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

// What a live controller would have written during this run.
std::string journal_of(const Case& given) {
  const Topology topology = Topology::parse(kCluster).value();
  SpeedBook speeds(sample_speeds(), topology);
  const std::vector<Job> jobs = small_workload(speeds);
  const SimOptions options{.policy = given.policy,
                           .accounting = given.accounting,
                           .seed = kSeed,
                           .faults = some_faults()};
  std::string journal = header_line({.policy = given.policy,
                                     .accounting = given.accounting,
                                     .slot = options.slot,
                                     .seed = kSeed,
                                     .cluster = std::string(kCluster)});
  const SimWatcher watcher{
      .on_event = [&](Instant now, const Event& event) { journal += event_line(now, event); },
      .on_command = [&](Instant, const Command& command) { journal += command_line(command); }};
  const auto result = simulate(jobs, topology, speeds, options, watcher);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return journal;
}

Result<ReplayReport> replayed(std::string_view journal) {
  Engine engine =
      engine_for(JournalReader::open(journal).value().header(), sample_speeds()).value();
  return replay(journal, engine);
}

class JournalOf : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Sim, JournalOf, testing::ValuesIn(all_cases()), [](const auto& given) {
  std::string name = given.param.policy + "_" + std::string(to_string(given.param.accounting));
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
