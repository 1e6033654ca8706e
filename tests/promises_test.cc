// The promise: without faults every admitted deadline is met, whatever arrives, at every slot
// length and under every accounting; with faults nothing is handed out twice and everyone still
// finishes.
//
// Random small worlds, run by the real engine in virtual time and watched by a model of its own.
// RUBATO_SOAK=1 runs many more of them, RUBATO_SEED=n moves on to others.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/metrics/summary.h"
#include "rubato/sim/simulator.h"
#include "rubato/sim/workload.h"

namespace rubato {
namespace {

constexpr double kInstantsApart = 1e-4;  // Seconds that doubles may be off over a whole run.

/// A cluster, what is known about speeds on it, and jobs to run there.
struct RandomWorld {
  Topology topology{};
  SpeedBook speeds;
  std::vector<Job> jobs{};
};

const std::vector<std::string>& gpu_types() {
  static const std::vector<std::string> types = {"", "A", "B"};
  return types;
}

// Speeds at rising counts: linear, concave, or of any shape with dips.
std::vector<SpeedRow> draw_speeds(const std::string& model, Random& random) {
  std::vector<SpeedRow> rows;
  const auto shape = random.integer(0, 3);
  const int first = random.chance(0.15) ? 2 : 1;
  const bool every_count = random.chance(0.2);
  for (const std::string& type : gpu_types()) {
    if (type == "B" && random.chance(0.2)) {
      continue;  // Nobody measured this model there.
    }
    double speed = std::pow(10, random.uniform(-1, 1));
    double gain = speed / first;
    int before = 0;
    for (int gpus = first; gpus <= 128; gpus = every_count ? gpus + 1 : gpus * 2) {
      if (before > 0 && shape == 1) {
        gain *= random.uniform(0.3, 1);  // Concave.
      } else if (before > 0 && shape >= 2) {
        gain = speed / before * random.uniform(-0.2, 2);  // Convex here, falling there.
      }
      speed = before == 0 ? speed : std::max(speed + gain * (gpus - before), 0.01);
      rows.push_back(
          SpeedRow{.gpu_type = type, .model = model, .batch = 1, .gpus = gpus, .speed = speed});
      before = gpus;
    }
  }
  return rows;
}

struct Habits {
  double gap = 0;       // Mean seconds between bursts.
  double span_low = 0;  // Powers of ten of a job's seconds on its fastest count.
  double span_high = 0;
  double slack_high = 0;  // Largest deadline as a multiple of that.
  bool shares_deadlines = false;
  double unpromised = 0;  // Share of soft and best-effort jobs.
};

Habits draw_habits(Random& random) {
  const double low = random.uniform(-1, 3.5);
  return Habits{.gap = std::pow(10, random.uniform(0, 3.5)),
                .span_low = low,
                .span_high = low + random.uniform(0, 2),
                .slack_high = random.chance(0.3) ? 1.3 : random.uniform(1.5, 12),
                .shares_deadlines = random.chance(0.3),
                .unpromised = random.chance(0.5) ? 0 : random.uniform(0, 0.6)};
}

Job draw_job(const std::vector<std::string>& models, const Habits& habits, Random& random) {
  Job job;
  job.model = models[static_cast<std::size_t>(
      random.integer(0, static_cast<std::int64_t>(models.size()) - 1))];
  job.batch = 1;
  job.requested = 1 << random.integer(0, 3);
  if (random.chance(habits.unpromised)) {
    job.job_class = random.chance(0.5) ? JobClass::Soft : JobClass::BestEffort;
  }
  if (random.chance(0.1)) {
    job.workers.max = static_cast<int>(random.integer(1, 8));
  }
  if (random.chance(0.1)) {
    job.workers.listed = {1, 2, 3, 5, 6, 8};
  }
  return job;
}

void set_work_and_deadline(Job& job, RandomWorld& world, const Habits& habits, Random& random) {
  const SpeedId speed = world.speeds.resolve(job);
  double fastest = 0;
  for (const Pool& pool : world.topology.pools()) {
    const ScalingCurve& curve = world.speeds.curve(speed, pool.id);
    fastest = std::max(fastest, curve.empty() ? 0.0 : curve.peak().speed);
  }
  const double span = std::pow(10, random.uniform(habits.span_low, habits.span_high));
  job.work = span * (fastest > 0 ? fastest : 1);
  if (random.chance(0.01)) {
    job.work = 0;
  }
  if (job.job_class == JobClass::BestEffort && random.chance(0.8)) {
    return;
  }
  job.deadline = job.arrival + from_seconds(span * random.uniform(0.9, habits.slack_high));
  if (habits.shares_deadlines) {
    const std::int64_t grid = from_seconds(habits.gap * 5).count();
    const std::int64_t whole = (job.deadline.time_since_epoch().count() / grid + 1) * grid;
    job.deadline = Instant{Duration{whole}};
  }
}

RandomWorld draw_world(std::uint64_t seed) {
  Random random(seed);
  constexpr std::array kClusters = {"1x1", "1x2", "1x4",  "2x4",        "3x2",
                                    "1x8", "4x8", "16x8", "2x4:A+1x8:B"};
  constexpr std::array kModels = {"resnet50", "gpt2", "bert", "other"};
  const auto cluster = static_cast<std::size_t>(random.integer(0, kClusters.size() - 1));
  const Topology topology = Topology::parse(kClusters[cluster]).value();
  std::vector<std::string> models;
  std::vector<SpeedRow> rows;
  for (std::int64_t i = 0, last = random.integer(0, 3); i <= last; ++i) {
    models.emplace_back(kModels[static_cast<std::size_t>(i)]);
    for (SpeedRow& row : draw_speeds(models.back(), random)) {
      rows.push_back(std::move(row));
    }
  }
  RandomWorld world{.topology = topology, .speeds = SpeedBook(std::move(rows), topology)};
  const Habits habits = draw_habits(random);
  Instant arrival = at_seconds(random.uniform(0, 100));
  const auto jobs = static_cast<std::size_t>(random.integer(1, random.chance(0.1) ? 160 : 40));
  while (world.jobs.size() < jobs) {
    const std::int64_t burst = random.chance(0.2) ? random.integer(2, 10) : 1;
    for (std::int64_t i = 0; i < burst && world.jobs.size() < jobs; ++i) {
      Job job = draw_job(models, habits, random);
      job.arrival = arrival;
      set_work_and_deadline(job, world, habits, random);
      world.jobs.push_back(job);
    }
    arrival += from_seconds(random.exponential(habits.gap));
  }
  world.jobs = prepare(std::move(world.jobs), world.speeds).jobs;
  return world;
}

/// An own account of a run, kept from events and commands alone: who holds which GPU, how far each
/// job is. Complains when the engine or the simulator says something else.
class Witness {
 public:
  explicit Witness(const RandomWorld& world, bool knows_speeds)
      : world_(world), knows_speeds_(knows_speeds), runs_(world.jobs.size()) {
    for (const Pool& pool : world.topology.pools()) {
      down_.emplace_back(static_cast<std::size_t>(pool.gpus), false);
    }
  }

  SimWatcher watcher() {
    return SimWatcher{.on_event = [this](Instant now, const Event& event) { see(now, event); },
                      .on_command =
                          [this](Instant now, const Command& command) {
                            std::visit([&](const auto& each) { hear(now, each); }, command);
                          }};
  }
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Running {
    Placement placement{};
    double done = 0;
    double speed = 0;
    Instant since{};  // Progress is reckoned up to here; later than now during a pause.
    bool admitted = false;
  };

  void complain(Instant now, const std::string& what) {
    complaints_.push_back(fmt::format("at {} s: {}", to_seconds(now), what));
  }

  void see(Instant now, const Event& event) {
    if (now < now_) {
      complain(now, "time runs backwards");
    }
    check_gpus();
    now_ = now;
    if (const auto* completion = std::get_if<Completion>(&event)) {
      const std::size_t id = completion->job.value;
      catch_up(now, runs_[id]);
      const double missing = world_.jobs[id].work - runs_[id].done;
      const double off = runs_[id].speed > 0 ? std::abs(missing) / runs_[id].speed : missing;
      if (knows_speeds_ && off > kInstantsApart) {
        complain(now, fmt::format("job {} ends {} s off", id, off));
      }
      runs_[id].placement.ranges.clear();
    } else if (const auto* change = std::get_if<NodeChange>(&event)) {
      const Node& node = world_.topology.node(change->node);
      for (int gpu = node.first_gpu; gpu < node.first_gpu + node.gpus; ++gpu) {
        down_[node.pool.value][static_cast<std::size_t>(gpu)] = !change->up;
      }
    }
  }

  void hear(Instant now, const Answer& answer) {
    Running& run = runs_[answer.verdict.job.value];
    run.admitted = answer.verdict.kind == VerdictKind::Admit ||
                   answer.verdict.kind == VerdictKind::Demote;  // Runs on, without a promise.
    const Job& job = world_.jobs[answer.verdict.job.value];
    if (answer.verdict.promised != kNever && answer.verdict.promised > job.deadline) {
      complain(now, fmt::format("job {} is promised after its deadline", job.id.value));
    }
  }
  void hear(Instant now, const Run& run) {
    const std::size_t id = run.job.value;
    catch_up(now, runs_[id]);
    runs_[id].placement = run.placement;
    const SpeedId speed = world_.speeds.find(world_.jobs[id]);
    runs_[id].speed = world_.speeds.curve(speed, run.placement.pool).speed(run.placement.gpus());
    runs_[id].since = std::max(runs_[id].since, now) + run.pause;
    if (!runs_[id].admitted || !world_.jobs[id].workers.allows(run.placement.gpus())) {
      complain(now, fmt::format("job {} may not run on {} GPUs", id, run.placement.gpus()));
    }
  }
  void hear(Instant now, const Rebatch& rebatch) {
    complain(now, fmt::format("job {} has one batch and cannot adapt it", rebatch.job.value));
  }
  void hear(Instant now, const Suspend& suspend) {
    Running& run = runs_[suspend.job.value];
    catch_up(now, run);
    run.placement.ranges.clear();
    run.speed = 0;
    run.since = now;
  }
  void hear(Instant now, const Stall& stall) {
    Running& run = runs_[stall.job.value];
    catch_up(now, run);
    run.since = std::max(run.since, now) + stall.pause;
  }
  void hear(Instant now, const Wake& wake) {
    if (wake.at < now) {
      complain(now, "woken in the past");
    }
  }
  void hear(Instant now, const Alarm& alarm) { complain(now, alarm.fault); }

  static void catch_up(Instant now, Running& run) {
    if (now > run.since) {
      run.done += run.speed * to_seconds(now - run.since);
      run.since = now;
    }
  }
  // Commands of one instant take effect together, so this is looked at before the next event.
  void check_gpus() {
    std::map<std::pair<PoolId, int>, std::size_t> owners;
    for (std::size_t id = 0; id < runs_.size(); ++id) {
      const Placement& placement = runs_[id].placement;
      for (const GpuRange& range : placement.ranges) {
        for (int gpu = range.first; gpu < range.first + range.count; ++gpu) {
          const bool is_free = owners.emplace(std::pair(placement.pool, gpu), id).second;
          if (!is_free || down_[placement.pool.value].at(static_cast<std::size_t>(gpu))) {
            complain(now_, fmt::format("job {}: GPU {} is taken or down", id, gpu));
          }
        }
      }
    }
  }

  const RandomWorld& world_;
  bool knows_speeds_;
  std::vector<Running> runs_;
  std::vector<std::vector<bool>> down_;  // Per pool and GPU.
  std::vector<std::string> complaints_;
  Instant now_{};
};

/// How one world is run.
struct Setting {
  std::uint64_t seed = 0;
  std::string policy = "elasticflow";
  ResizeCostModel accounting = ResizeCostModel::None;
  double slot = 60;
  FaultOptions faults{};
};

std::string describe(const Setting& setting) {
  return fmt::format("seed {} policy {} accounting {} slot {}", setting.seed, setting.policy,
                     to_string(setting.accounting), setting.slot);
}

// The history of the run, after everything that must hold of any run was checked.
History run_and_check(const RandomWorld& world, const Setting& setting) {
  Witness witness(world, !setting.faults.any());
  const auto result = simulate(world.jobs, world.topology, world.speeds,
                               SimOptions{.policy = setting.policy,
                                          .accounting = setting.accounting,
                                          .slot = from_seconds(setting.slot),
                                          .seed = setting.seed,
                                          .faults = setting.faults,
                                          .audit = true},
                               witness.watcher());
  EXPECT_TRUE(result.ok()) << describe(setting) << ": " << result.error().message;
  for (const std::string& complaint : witness.complaints()) {
    ADD_FAILURE() << describe(setting) << " " << complaint;
  }
  if (!result.ok()) {
    return History{};
  }
  for (const JobRecord& job : result->history.jobs) {
    EXPECT_NE(job.admitted, job.refused) << describe(setting) << " job " << job.id.value;
    EXPECT_EQ(job.admitted, job.finished()) << describe(setting) << " job " << job.id.value;
    EXPECT_TRUE(job.admitted || job.gpu_seconds == 0) << describe(setting);
  }
  return result->history;
}

void expect_promises_kept(const History& history, const Setting& setting) {
  for (const JobRecord& job : history.jobs) {
    EXPECT_FALSE(job.broke_promise())
        << describe(setting) << ": job " << job.id.value << " of " << history.jobs.size()
        << " is late by " << to_seconds(job.finish) - to_seconds(job.promised) << " s";
  }
}

std::vector<std::uint64_t> seeds(std::uint64_t quick, std::uint64_t soak) {
  const char* first = std::getenv("RUBATO_SEED");
  const std::uint64_t base = first == nullptr ? 0 : std::strtoull(first, nullptr, 10) * 1'000'000;
  std::vector<std::uint64_t> all;
  const std::uint64_t count = std::getenv("RUBATO_SOAK") == nullptr ? quick : soak;
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(base + i);
  }
  return all;
}

constexpr std::array kSlots = {1.0, 60.0, 240.0};
constexpr std::array kCostModels = {ResizeCostModel::None, ResizeCostModel::Physical,
                                    ResizeCostModel::Artifact};

// Faults of every kind, each switched on in about half of the runs, often enough to matter.
FaultOptions draw_faults_of(std::uint64_t seed) {
  Random random = Random(seed).fork(77);
  const auto often = [&] { return random.chance(0.5) ? std::pow(10, random.uniform(2.5, 5)) : 0; };
  return FaultOptions{.node_mtbf = often(),
                      .node_repair = random.uniform(1, 2000),
                      .worker_mtbf = often(),
                      .straggler_mtbf = often(),
                      .straggler_span = random.uniform(1, 3000),
                      .straggler_speed = random.uniform(0.1, 1),
                      .report_every = random.uniform(10, 1000),
                      .report_delay = random.chance(0.5) ? 0 : random.uniform(0, 300),
                      .noise = random.chance(0.5) ? 0 : random.uniform(0, 0.3)};
}

// Reports without any fault: spells of slowness that slow nobody.
FaultOptions harmless(std::uint64_t seed) {
  return {
      .straggler_mtbf = 1000, .straggler_speed = 1, .report_every = seed % 2 == 0 ? 30.0 : 700.0};
}

// All accountings and slots, on one world.
std::vector<Setting> settings_of(std::uint64_t seed, const std::string& policy) {
  std::vector<Setting> settings;
  for (const ResizeCostModel accounting : kCostModels) {
    for (const double slot : kSlots) {
      settings.push_back({.seed = seed, .policy = policy, .accounting = accounting, .slot = slot});
    }
  }
  return settings;
}

class PromisesOf : public testing::TestWithParam<const char*> {};

TEST_P(PromisesOf, AreKeptWithoutFaultsWhateverArrives) {
  for (const std::uint64_t seed : seeds(150, 5'000)) {
    const RandomWorld world = draw_world(seed);
    for (const Setting& setting : settings_of(seed, GetParam())) {
      expect_promises_kept(run_and_check(world, setting), setting);
    }
  }
}

TEST_P(PromisesOf, AreNotBrokenByReportsThatSayNothingNew) {
  for (const std::uint64_t seed : seeds(50, 500)) {
    const RandomWorld world = draw_world(seed);
    for (Setting setting : settings_of(seed, GetParam())) {
      setting.faults = harmless(seed);
      expect_promises_kept(run_and_check(world, setting), setting);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PromisesOf,
                         testing::Values("elasticflow", "edf-ac", "chronus:cells_max=40"),
                         [](const auto& each) {
                           const std::string name = each.param;
                           return name == "edf-ac"              ? "EdfAc"
                                  : name.starts_with("chronus") ? "Chronus"
                                                                : "ElasticFlow";
                         });

TEST(Promises, OfElasticFlowCostNobodyElseAnythingWhenFaultsBreakThem) {
  for (const std::uint64_t seed : seeds(50, 500)) {
    const RandomWorld world = draw_world(seed);
    for (Setting setting : settings_of(seed, "elasticflow")) {
      setting.faults = draw_faults_of(seed);
      run_and_check(world, setting);
    }
  }
}

// Worlds in which jobs that had lost their workers were once forgotten: 216 because it was believed
// done, 284 and 314 because no round was held any more that it could have come back at.
TEST(Promises, OfElasticFlowLeaveNobodyWithoutWorkersForGood) {
  for (const std::uint64_t seed : {216U, 284U, 314U}) {
    const RandomWorld world = draw_world(seed);
    for (Setting setting : settings_of(seed, "elasticflow")) {
      setting.faults = draw_faults_of(seed);
      run_and_check(world, setting);
    }
  }
}

// In world 96 a report that came at the very moment of a planned round looked like a loss of
// workers.
TEST(Promises, OfElasticFlowSurviveAReportAtTheMomentOfARound) {
  const RandomWorld world = draw_world(96);
  for (Setting setting : settings_of(96, "elasticflow")) {
    setting.faults = harmless(96);
    expect_promises_kept(run_and_check(world, setting), setting);
  }
}

bool same(const JobRecord& left, const JobRecord& right) {
  const auto key = [](const JobRecord& job) {
    return std::tuple(job.first_start, job.finish, job.promised, job.gpu_seconds, job.resizes,
                      job.migrations, job.reason);
  };
  return key(left) == key(right);
}

TEST(Promises, AreTheSameInEveryRunOfASeed) {
  for (const std::uint64_t seed : seeds(20, 200)) {
    const RandomWorld world = draw_world(seed);
    for (Setting setting : settings_of(seed, "elasticflow")) {
      setting.faults = draw_faults_of(seed);
      const History first = run_and_check(world, setting);
      const History second = run_and_check(world, setting);
      EXPECT_TRUE(std::ranges::equal(first.jobs, second.jobs, same)) << describe(setting);
      EXPECT_EQ(first.decisions, second.decisions) << describe(setting);
      EXPECT_EQ(first.rounds, second.rounds) << describe(setting);
    }
  }
}

}  // namespace
}  // namespace rubato
