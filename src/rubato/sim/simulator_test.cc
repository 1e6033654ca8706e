#include "rubato/sim/simulator.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "rubato/engine/record/journal.h"
#include "rubato/metrics/summary.h"
#include "rubato/sim/event_queue.h"
#include "rubato/sim/small_profile_test.h"
#include "rubato/sim/workload.h"

namespace rubato {
namespace {

std::vector<SpeedRow> linear_rows() {
  std::vector<SpeedRow> rows;
  for (int gpus = 1; gpus <= 8; gpus *= 2) {
    rows.push_back(SpeedRow{.model = "linear", .batch = 1, .gpus = gpus, .speed = 1.0 * gpus});
  }
  return rows;
}

// Takes `seconds` on the GPUs it asks for.
Job job_of(double arrival, int gpus, double seconds) {
  Job job;
  job.model = "linear";
  job.batch = 1;
  job.arrival = at_seconds(arrival);
  job.requested = gpus;
  job.work = gpus * seconds;
  return job;
}

Job due_at(double deadline, Job job) {
  job.deadline = at_seconds(deadline);
  return job;
}

std::string_view name_of(const Event& event) {
  constexpr std::array<std::string_view, 6> kNames = {"completion", "node",    "report",
                                                      "reply",      "arrival", "tick"};
  return kNames[event.index()];
}

/// A run with everything that was seen of it.
struct Seen {
  std::vector<std::pair<double, std::string>> events{};
  std::vector<std::pair<double, Command>> commands{};
  SimResult result{};

  [[nodiscard]] std::vector<std::string> events_at(double seconds) const {
    std::vector<std::string> names;
    for (const auto& [at, name] : events) {
      if (at == seconds) {
        names.push_back(name);
      }
    }
    return names;
  }
  [[nodiscard]] double finish(std::size_t id) const {
    return to_seconds(result.history.jobs[id].finish);
  }
};

Seen watch(std::vector<Job> jobs, SimOptions options, std::string_view cluster = "1x4") {
  const Topology topology = Topology::parse(cluster).value();
  SpeedBook speeds(linear_rows(), topology);
  const Workload workload = prepare(std::move(jobs), speeds);
  options.audit = true;
  Seen seen;
  const SimWatcher watcher{.on_event =
                               [&](Instant now, const Event& event) {
                                 std::string name(name_of(event));
                                 if (const auto* arrival = std::get_if<Arrival>(&event)) {
                                   name += fmt::format(" {}", arrival->job.id.value);
                                 }
                                 seen.events.emplace_back(to_seconds(now), name);
                               },
                           .on_command =
                               [&](Instant now, const Command& command) {
                                 seen.commands.emplace_back(to_seconds(now), command);
                               }};
  auto result = simulate(workload.jobs, topology, speeds, options, watcher);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (result.ok()) {
    seen.result = *std::move(result);
  }
  return seen;
}

SimOptions without_cost(std::string_view policy) {
  return SimOptions{.policy = std::string(policy), .accounting = ResizeCostModel::None};
}

TEST(EventQueue, OrdersByTimeThenKindThenId) {
  EventQueue queue;
  const Instant now = at_seconds(1);
  queue.push({.at = now, .kind = DueKind::Tick});
  queue.push({.at = now, .kind = DueKind::Arrival, .id = 2});
  queue.push({.at = now, .kind = DueKind::Arrival, .id = 1});
  queue.push({.at = now, .kind = DueKind::Report, .id = 9});
  queue.push({.at = now, .kind = DueKind::Fault, .id = 3});
  queue.push({.at = now, .kind = DueKind::Completion, .id = 7});
  queue.push({.at = at_seconds(0), .kind = DueKind::Tick});

  std::vector<std::pair<DueKind, std::uint64_t>> order;
  for (; !queue.empty(); queue.pop()) {
    order.emplace_back(queue.top().kind, queue.top().id);
  }

  EXPECT_EQ(order, (std::vector<std::pair<DueKind, std::uint64_t>>{{DueKind::Tick, 0},
                                                                   {DueKind::Completion, 7},
                                                                   {DueKind::Fault, 3},
                                                                   {DueKind::Report, 9},
                                                                   {DueKind::Arrival, 1},
                                                                   {DueKind::Arrival, 2},
                                                                   {DueKind::Tick, 0}}));
}

TEST(Simulator, HandlesEventsOfOneInstantInTheirOrder) {
  // The first job ends at 10 s, when two more arrive; only then is a round held.
  SimOptions options = without_cost("fifo");
  options.slot = std::chrono::seconds{10};
  const Seen seen = watch({job_of(0, 4, 10), job_of(10, 4, 10), job_of(10, 2, 10)}, options);

  EXPECT_EQ(seen.events_at(10),
            (std::vector<std::string>{"completion", "arrival 1", "arrival 2", "tick"}));
}

TEST(Simulator, RunsJobsToTheirEnd) {
  const Seen seen = watch({job_of(0, 4, 10), job_of(1, 2, 5)}, without_cost("fifo"));

  EXPECT_EQ(seen.finish(0), 10);
  EXPECT_EQ(seen.finish(1), 60 + 5);  // Rounds are a minute apart.
  EXPECT_EQ(seen.result.history.start, at_seconds(0));
  EXPECT_EQ(seen.result.history.end, at_seconds(65));
  EXPECT_EQ(summarize(seen.result.history).finished, 2);
}

TEST(Simulator, ForgetsTheFinishOfAJobThatWasResized) {
  // Alone it would end at 10 s; from 5 s on it shares the GPUs, and ends once, later.
  SimOptions options = without_cost("elasticflow");
  options.slot = std::chrono::seconds{1};
  const Seen seen = watch({due_at(100, job_of(0, 4, 10)), due_at(16, job_of(5, 2, 20))}, options);

  EXPECT_EQ(seen.events_at(10), std::vector<std::string>{});
  EXPECT_GT(seen.finish(0), 10);
  EXPECT_LE(seen.finish(1), 16);
  const auto ends =
      std::ranges::count(seen.events, "completion", [](const auto& each) { return each.second; });
  EXPECT_EQ(ends, 2);
}

TEST(Simulator, ChargesPausesOnceForEachChange) {
  const Seen physical = watch({job_of(0, 4, 10)}, SimOptions{.policy = "fifo"});
  const Seen artifact = watch(
      {job_of(0, 4, 10)}, SimOptions{.policy = "fifo", .accounting = ResizeCostModel::Artifact});

  EXPECT_EQ(physical.finish(0), 10 + 3.904);
  EXPECT_EQ(artifact.finish(0), 10 + 2 + 2 * 3);
}

TEST(Simulator, StallsUnchangedJobsUnderTheArtifactsAccounting) {
  // The second job's start stops the first one for two seconds.
  SimOptions options{.policy = "elasticflow", .accounting = ResizeCostModel::Artifact};
  Job narrow = due_at(4000, job_of(0, 2, 500));
  narrow.workers.max = 2;
  const Seen seen = watch({narrow, due_at(4000, job_of(100, 2, 500))}, options);

  const bool stalls = std::ranges::any_of(seen.commands, [](const auto& each) {
    const auto* stall = std::get_if<Stall>(&each.second);
    return stall != nullptr && stall->job == JobId{0} && stall->pause == std::chrono::seconds{2} &&
           each.first == 100;
  });

  EXPECT_TRUE(stalls);
  EXPECT_EQ(seen.finish(0), 500 + 2 + 2 * 2 + 2);
}

// At one price, two per GPU hour, a job of two GPU hours costs four.
Seen sold_to(const std::vector<double>& values) {
  std::vector<Job> jobs;
  for (const double value : values) {
    jobs.push_back(job_of(0, 2, 3600));
    jobs.back().value.amount = value;
  }
  return watch(jobs, without_cost("bandit-pricing:price_min=2,price_max=2,arms=1"));
}

TEST(Simulator, OwnersPayUpToWhatTheJobIsWorth) {
  const Seen seen = sold_to({4, 3.9});

  EXPECT_EQ(seen.events_at(0),
            (std::vector<std::string>{"arrival 0", "reply", "arrival 1", "reply", "tick"}));
  EXPECT_EQ(seen.finish(0), 3600);
  EXPECT_EQ(summarize(seen.result.history).finished, 1);
  const auto refused = std::ranges::find_if(seen.commands, [](const auto& each) {
    const auto* answer = std::get_if<Answer>(&each.second);
    return answer != nullptr && answer->verdict.kind == VerdictKind::Refuse;
  });
  ASSERT_NE(refused, seen.commands.end());
  EXPECT_EQ(std::get<Answer>(refused->second).verdict.job, JobId{1});
  EXPECT_EQ(std::get<Answer>(refused->second).verdict.reason, Reason::PriceDeclined);
}

TEST(Simulator, EndsThoughEveryOfferIsDeclined) {
  const Seen seen = sold_to({1, 2, 3});

  EXPECT_EQ(summarize(seen.result.history).finished, 0);
  EXPECT_EQ(seen.events.size(), 6U);
}

// What tenants are guaranteed is the same, whatever another one submits.
TEST(Simulator, KeepsTenantsApartWithHived) {
  SimOptions options = without_cost("fifo");
  options.tenants = {{.name = "a", .share = 0.5}, {.name = "b", .share = 0.5}};
  options.placer = "hived";
  std::vector<Job> jobs = {job_of(0, 2, 100), job_of(0, 2, 100), job_of(1, 2, 100)};
  jobs[0].tenant = jobs[1].tenant = "a";
  jobs[2].tenant = "b";

  const Seen seen = watch(jobs, options);

  EXPECT_EQ(seen.finish(0), 100);
  EXPECT_EQ(seen.finish(1), 200);
  EXPECT_EQ(seen.finish(2), 101);
}

TEST(Simulator, TellsWhatIsWrongWithThePlacer) {
  const Topology topology = Topology::parse("1x4").value();
  const SpeedBook speeds(linear_rows(), topology);

  const auto result = simulate({}, topology, speeds, {.policy = "fifo", .placer = "hive"});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "unknown placer 'hive'; did you mean 'hived'?");
}

TEST(Simulator, GivesTheSameHistoryForTheSameSeed) {
  SimOptions options{.policy = "elasticflow",
                     .seed = 3,
                     .faults = {.node_mtbf = 2000, .node_repair = 100, .noise = 0.1}};
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(due_at(100.0 * i + 900, job_of(100.0 * i, 2, 300)));
  }
  const auto finishes = [&](std::uint64_t seed) {
    options.seed = seed;
    std::vector<Instant> all;
    for (const JobRecord& job : watch(jobs, options, "2x4").result.history.jobs) {
      all.push_back(job.finish);
    }
    return all;
  };

  EXPECT_EQ(finishes(3), finishes(3));
  EXPECT_NE(finishes(3), finishes(4));
}

TEST(Simulator, StrikesEveryPolicyWithTheSameFaults) {
  SimOptions options{.seed = 3, .faults = {.node_mtbf = 500, .node_repair = 100}};
  const auto losses = [&](std::string_view policy) {
    options.policy = policy;
    std::vector<double> moments;
    for (const auto& [at, name] :
         watch({job_of(0, 1, 50'000), job_of(0, 1, 50'000)}, options, "2x4").events) {
      if (name == "node" && at < 2000) {
        moments.push_back(at);
      }
    }
    return moments;
  };

  EXPECT_FALSE(losses("fifo").empty());
  EXPECT_EQ(losses("fifo"), losses("elasticflow"));
  EXPECT_EQ(losses("fifo"), losses("srtf"));
}

TEST(Simulator, LetsTheEngineLearnTheTrueSpeedOnlyFromReports) {
  // The truth differs from the book at once, but plans follow only the first report, at 300 s.
  SimOptions options = without_cost("elasticflow");
  options.seed = 2;
  options.faults = {.report_every = 300, .noise = 0.2};
  const Topology topology = Topology::parse("1x4").value();
  SpeedBook speeds(linear_rows(), topology);
  const Workload workload = prepare({job_of(0, 1, 4000)}, speeds);
  double measured = 0;
  double first = 0;
  const SimWatcher watcher{.on_event = [&](Instant now, const Event& event) {
    const auto* report = std::get_if<ProgressReport>(&event);
    if (report != nullptr && first == 0) {
      first = to_seconds(now);
      measured = report->speed;
      EXPECT_NEAR(report->done, measured * first, 1e-6);
    }
  }};

  const auto result = simulate(workload.jobs, topology, speeds, options, watcher);

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(first, 300);
  EXPECT_NE(measured, 4);
  EXPECT_NEAR(to_seconds(result->history.jobs[0].finish), 4000 / measured, 1e-3);
}

TEST(Simulator, StopsAJobWhoseNodeIsLostAndRunsItAgain) {
  SimOptions options = without_cost("fifo");
  options.seed = 1;
  options.faults = {.node_mtbf = 300, .node_repair = 50};
  const Seen seen = watch({job_of(0, 4, 2000)}, options, "1x4");

  const auto stops = std::ranges::count_if(
      seen.commands, [](const auto& each) { return std::holds_alternative<Suspend>(each.second); });

  EXPECT_GT(stops, 0);
  EXPECT_GT(seen.finish(0), 2000);
  EXPECT_TRUE(seen.result.history.jobs[0].finished());
}

TEST(Simulator, LosesAJobsWorkersWithOneOfThem) {
  SimOptions options = without_cost("fifo");
  options.seed = 1;
  options.faults = {.worker_mtbf = 300};
  const Seen seen = watch({job_of(0, 4, 2000)}, options, "1x4");

  EXPECT_GT(seen.finish(0), 2000);
  EXPECT_TRUE(seen.result.history.jobs[0].finished());
}

TEST(Simulator, AnswersABadPolicyNameWithAnError) {
  const Topology topology = Topology::parse("1x4").value();
  const SpeedBook speeds(linear_rows(), topology);

  const auto result = simulate({}, topology, speeds, SimOptions{.policy = "elasticflo"});

  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("elasticflow"), std::string::npos);
}

TEST(Simulator, HasAnEmptyHistoryForNoJobs) {
  const Seen seen = watch({}, without_cost("elasticflow"));

  EXPECT_TRUE(seen.events.empty());
  EXPECT_EQ(seen.result.history.start, seen.result.history.end);
}

TEST(Simulator, EndsWhenAllJobsAreRefused) {
  const Seen seen = watch({due_at(1, job_of(0, 4, 10))}, without_cost("elasticflow"));

  EXPECT_TRUE(seen.result.history.jobs[0].refused);
  EXPECT_EQ(seen.result.history.jobs[0].reason, Reason::DeadlineTooSoon);
}

/// A run of profiled jobs, as a journal would have it.
struct Replayed {
  std::string journal{};
  std::vector<std::pair<Instant, JobId>> reports{};
  int rebatches = 0;
  SimResult result{};
};

// A job of the small application.
Job net_job(double arrival, int batch, int gpus) {
  Job job{.arrival = at_seconds(arrival), .model = "net", .batch = batch, .requested = gpus};
  job.work = small_profile().steps(batch);
  job.batches = small_profile().limits();
  return job;
}

Replayed replayed(std::vector<Job> jobs, std::string_view policy) {
  const Topology topology = Topology::parse("1x4").value();
  std::vector<SpeedRow> rows;
  for (const int batch : {10, 40}) {
    std::ranges::copy(small_profile().speed_rows("net", batch), std::back_inserter(rows));
  }
  SpeedBook speeds(rows, topology);
  speeds.add("net", "", small_profile());
  const Workload workload = prepare(std::move(jobs), speeds);
  Replayed seen;
  const SimWatcher watcher{.on_event =
                               [&](Instant now, const Event& event) {
                                 seen.journal += event_line(now, event);
                                 if (const auto* report = std::get_if<ProgressReport>(&event)) {
                                   seen.reports.emplace_back(now, report->job);
                                 }
                               },
                           .on_command =
                               [&](Instant, const Command& command) {
                                 seen.journal += command_line(command);
                                 seen.rebatches += std::holds_alternative<Rebatch>(command) ? 1 : 0;
                               }};
  auto result = simulate(workload.jobs, topology, speeds,
                         SimOptions{.policy = std::string(policy),
                                    .restart = std::chrono::seconds{30},
                                    .grid = true,
                                    .audit = true},
                         watcher);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (result.ok()) {
    seen.result = *std::move(result);
  }
  return seen;
}

TEST(Simulator, ReplaysAProfileToTheSecond) {
  // Arrives at 10 s, starts at the round at 60 s and has restarted by 90 s. Batch 10: 100 and 190
  // steps of 1 s. Batch 40 on two GPUs: 40 and 58.46 steps of 2 s; epochs end at whole seconds.
  const Replayed small = replayed({net_job(10, 10, 1)}, "fifo");
  const Replayed large = replayed({net_job(10, 40, 2)}, "fifo");

  EXPECT_EQ(small.result.history.jobs[0].finish, at_seconds(90 + 100 + 190));
  EXPECT_EQ(large.result.history.jobs[0].finish, at_seconds(90 + 80 + 117));
  EXPECT_TRUE(small.reports.empty());
}

TEST(Simulator, LetsPolluxAdaptTheBatchOfAProfiledJob) {
  const Replayed seen = replayed({net_job(10, 10, 1), net_job(100, 40, 2)}, "pollux");

  EXPECT_GT(seen.rebatches, 0);
  EXPECT_TRUE(seen.result.history.jobs[0].finished());
  EXPECT_TRUE(seen.result.history.jobs[1].finished());
  // With its own batch, alone and on one GPU, it would take until then.
  EXPECT_LT(seen.result.history.jobs[0].finish, at_seconds(380));
}

TEST(Simulator, HearsEachAdaptiveJobOnceAtATime) {
  // Its only batch is 10, so nothing changes at the end of its first epoch: what was expected
  // before must not be heard beside what is expected from then on.
  Job steady = net_job(10, 10, 1);
  steady.batches = {.initial = 10, .max = 10, .local_min = 10, .local_max = 10};

  auto reports = replayed({steady}, "pollux").reports;

  EXPECT_GT(reports.size(), 4U);
  std::ranges::sort(reports);
  EXPECT_EQ(std::ranges::adjacent_find(reports), reports.end());
}

TEST(Simulator, GivesTheSameBytesForTheSameSeedWithPollux) {
  std::vector<Job> jobs;
  for (int i = 0; i < 12; ++i) {
    jobs.push_back(net_job(37.0 * i, i % 2 == 0 ? 10 : 40, 1 + i % 2));
  }

  const Replayed first = replayed(jobs, "pollux");
  const Replayed second = replayed(jobs, "pollux");

  EXPECT_GT(first.journal.size(), 1'000U);
  EXPECT_EQ(first.journal, second.journal);
}

}  // namespace
}  // namespace rubato
