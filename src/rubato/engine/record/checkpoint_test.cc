#include "rubato/engine/record/checkpoint.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/engine/record/replay.h"
#include "rubato/engine/record/sealed_text.h"
#include "rubato/engine/testing/random_run_test.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

constexpr int kLifeSteps = 120;

/// How an engine of these tests is made; the same each time.
struct Making {
  std::string policy{};
  std::uint64_t seed = 0;
  std::string placer{};

  /// One pool or two; each of the accountings in turn.
  [[nodiscard]] Result<Engine> engine() const {
    const bool is_mixed = seed % 2 == 1;
    const Topology topology = Topology::parse(is_mixed ? "2x4:A+2x4:B" : "4x4").value();
    std::vector<SpeedRow> rows = test_speeds(is_mixed ? "A" : "");
    if (is_mixed) {
      std::ranges::copy(test_speeds("B"), std::back_inserter(rows));
    }
    return Engine::make(
        topology, SpeedBook(rows, topology), policy,
        EngineOptions{.accounting = kAccountings.at(seed % kAccountings.size()),
                      .slot = seconds(seed % 4 < 2 ? 10 : 1),
                      .seed = seed,
                      .share_profiles = seed % 2 == 0,
                      .tenants = {{.name = "a", .share = 0.5}, {.name = "b", .share = 0.25}},
                      .placer = placer});
  }
};

// A report of a running job with the times of its steps; nothing if none runs.
std::optional<Event> step_report(const Engine& engine, Instant now, Random& random) {
  std::vector<const JobState*> running;
  engine.state().jobs.for_each([&](const JobState& job) {
    if (job.share > 0) {
      running.push_back(&job);
    }
  });
  if (running.empty()) {
    return std::nullopt;
  }
  const JobState& job = *running[random.next() % running.size()];
  const auto nodes = static_cast<int>(engine.state().topology.nodes_of(job.placement).size());
  const double pass = random.uniform(0.1, 0.2);
  return ProgressReport{
      .job = job.id(),
      .done = job.progress.at(now),
      .workers = job.share,
      .step = StepObservation{.nodes = nodes,
                              .workers = job.share,
                              .local_batch = static_cast<int>(random.integer(4, 16)),
                              .pass_seconds = pass,
                              .step_seconds = pass * random.uniform(1, 1.5),
                              .gradient_squared = random.uniform(0, 2),
                              .gradient_variance = random.uniform(0, 9)}};
}

// What else can happen in a life: jobs that adapt or say how fast they are, their reports, quotes.
void enrich(RandomRun& run, Engine& engine, Random& random) {
  const double kind = random.uniform();
  if (kind < 0.15) {
    Job job = run.draw_job();
    job.batches = {.initial = 16, .max = 256, .local_min = 2, .local_max = 32};
    run.feed(Arrival{.job = job});
  } else if (kind < 0.2) {
    Job job = run.draw_job();
    job.model = "its own";
    job.speeds = {{.workers = 1, .speed = random.uniform(0.5, 2)}, {.workers = 4, .speed = 5}};
    run.feed(Arrival{.job = job});
  } else if (kind < 0.4) {
    if (const auto report = step_report(engine, run.now(), random)) {
      run.feed(*report);
    }
  } else if (kind < 0.45) {
    static_cast<void>(engine.quote(run.now(), Job{.work = 10, .model = "asked about"}));
  }
}

/// An engine that was loaded in the middle of the life of another, and where that was.
struct Successor {
  Engine engine;
  std::size_t since = 0;  // Bytes of the journal.
};

// Lives with some successors; each must answer what follows with the same bytes as the first.
void expect_same_lives(const Making& making) {
  Engine engine = making.engine().value();
  RandomRun run(engine, making.seed);
  Random random(making.seed ^ 99);
  std::vector<Successor> successors;
  for (int i = 0; i < kLifeSteps; ++i) {
    run.step();
    enrich(run, engine, random);
    if (i == kLifeSteps / 2 || random.chance(2.0 / kLifeSteps)) {
      const std::string saved = engine.save();
      successors.push_back({.engine = making.engine().value(), .since = run.journal().size()});
      const Status loaded = successors.back().engine.load(saved);
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      ASSERT_EQ(successors.back().engine.save(), saved);
      ASSERT_TRUE(successors.back().engine.audit().empty()) << successors.back().engine.audit()[0];
    }
  }
  for (Successor& successor : successors) {
    const auto report =
        replay(header_line({}) + run.journal().substr(successor.since), successor.engine);
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_TRUE(report->same()) << "recorded: " << report->difference->recorded
                                << "\nnow:      " << report->difference->replayed;
    ASSERT_EQ(report->unrecorded, 0U);
    ASSERT_EQ(successor.engine.state().random.words(), engine.state().random.words());
  }
}

class CheckpointOf : public testing::TestWithParam<std::string> {};

std::vector<std::string> registered_names() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : all_policies()) {
    names.emplace_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Engine, CheckpointOf, testing::ValuesIn(registered_names()),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(CheckpointOf, AnyLifeLetsAnotherEngineGoOnWithTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_lives({.policy = GetParam(), .seed = seed});
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST_P(CheckpointOf, ALifeUnderQuotasDoesSoAsWell) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const Making making{.policy = GetParam(), .seed = seed, .placer = "hived"};
    if (!making.engine().ok()) {
      GTEST_SKIP() << making.engine().error().message;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_lives(making);
    if (HasFatalFailure()) {
      return;
    }
  }
}

const Making kPlainMaking{.policy = "elasticflow"};

// Two jobs that run, one that was refused, one node that is down.
Engine busy_engine() {
  Engine engine = kPlainMaking.engine().value();
  for (const Job& each : {due(100, job(1, 100)), due(1, job(2, 1000)), due(400, job(3, 300))}) {
    static_cast<void>(engine.on(at(0), Arrival{.job = each}));
  }
  static_cast<void>(engine.on(at(0), Tick{}));
  static_cast<void>(engine.on(at(1), NodeChange{.node = NodeId{3}, .up = false}));
  static_cast<void>(engine.on(at(1), Tick{}));
  return engine;
}

std::string loading_error(std::string_view text) {
  Engine engine = kPlainMaking.engine().value();
  const Status loaded = engine.load(text);
  return loaded.ok() ? "no error" : loaded.error().message;
}

// The error after one part of the body was replaced and the text sealed anew.
std::string error_with(const std::string& text, std::string_view from, std::string_view to) {
  std::string body(unsealed(kCheckpointFormat, text).value());
  EXPECT_NE(body.find(from), std::string::npos) << from;
  body.replace(body.find(from), from.size(), to);
  return loading_error(sealed(kCheckpointFormat, body));
}

TEST(Checkpoint, KeepsWhatCanBeAskedAbout) {
  const Engine engine = busy_engine();
  Engine other = kPlainMaking.engine().value();

  ASSERT_TRUE(other.load(engine.save()).ok());

  ASSERT_TRUE(engine.why(at(2), JobId{2}).ok());
  EXPECT_EQ(other.why(at(2), JobId{2})->binding, engine.why(at(2), JobId{2})->binding);
  EXPECT_EQ(other.why(at(2), JobId{3})->binding, engine.why(at(2), JobId{3})->binding);
  EXPECT_EQ(other.state().capacity, engine.state().capacity);
  EXPECT_EQ(other.state().used, engine.state().used);
  EXPECT_GT(other.state().used.at(0), 0);
}

TEST(Checkpoint, KeepsTheOrderOfKinds) {
  Engine engine = kPlainMaking.engine().value();
  for (const std::string model : {"zebra", "ant", "linear"}) {
    static_cast<void>(engine.quote(at(0), Job{.work = 1, .model = model, .batch = 1}));
  }
  Engine other = kPlainMaking.engine().value();

  ASSERT_TRUE(other.load(engine.save()).ok());

  for (const std::string model : {"zebra", "ant", "linear"}) {
    const Job like{.model = model, .batch = 1};
    EXPECT_EQ(other.state().speeds.find(like), engine.state().speeds.find(like));
  }
}

/// Wants four GPUs for each job whatever becomes of it, and to be woken when it draws.
class StubbornPolicy final : public Policy {
 public:
  [[nodiscard]] Traits traits() const override { return {.resizes = true}; }
  [[nodiscard]] Decision on(const Event& event, const View& view) override {
    Decision decision{.is_round = true};
    if (const auto* arrival = std::get_if<Arrival>(&event)) {
      decision.verdicts.push_back({.job = arrival->job.id});
    }
    view.jobs.for_each(
        [&](const JobState& job) { decision.targets.push_back({.job = job.id(), .workers = 4}); });
    decision.wake_at = later(view.now, seconds(view.random.uniform(1, 2)));
    return decision;
  }
};

TEST(Checkpoint, KeepsDrawsAndWhatThePolicyIsStillToBeTold) {
  const World world{.cluster = "2x4", .seed = 5, .placer = "hived:vc=a:1x2"};
  const auto made = [&] {
    return Engine::with(
        world.topology(), SpeedBook(world.speeds, world.topology()),
        [] { return std::make_unique<StubbornPolicy>(); }, world.options());
  };
  Engine engine = made();
  Job wide = job(1, 100);
  wide.tenant = "a";
  static_cast<void>(engine.on(at(0), Arrival{.job = wide}));
  ASSERT_EQ(engine.state().unserved, std::vector<JobId>{JobId{1}});
  Engine other = made();

  ASSERT_TRUE(other.load(engine.save()).ok());

  for (int second = 1; second < 5; ++second) {
    const Commands expected = engine.on(at(second), Tick{});
    const Commands commands = other.on(at(second), Tick{});
    ASSERT_GE(only<Wake>(commands).size(), 3U);  // For the tick, and for what it is told then.
    ASSERT_EQ(commands.size(), expected.size());
    for (std::size_t i = 0; i < commands.size(); ++i) {
      EXPECT_EQ(command_line(commands[i]), command_line(expected[i]));
    }
  }
}

TEST(Checkpoint, CutAnywhereIsAnError) {
  const std::string text = busy_engine().save();
  for (std::size_t end = 0; end < text.size(); ++end) {
    ASSERT_NE(loading_error(text.substr(0, end)), "no error") << "cut at " << end;
  }
  EXPECT_EQ(loading_error(text), "no error");
}

TEST(Checkpoint, ChangedAnywhereIsAnError) {
  const std::string text = busy_engine().save();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    ASSERT_NE(loading_error(changed), "no error") << "changed at " << i;
  }
}

TEST(Checkpoint, OfAnotherVersionOrClusterIsAnError) {
  const std::string text = busy_engine().save();
  const Making mixed{.policy = "elasticflow", .seed = 1};
  Engine other = mixed.engine().value();

  const Status loaded = other.load(text);

  EXPECT_EQ(loading_error("rubato-checkpoint/2 bytes=0 sum=0\n"),
            "'rubato-checkpoint/1' expected, 'rubato-checkpoint/2' found");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message,
            "checkpoint: it was written on 1 pools with 4 nodes, here are 2 with 4, or with other "
            "numbers of GPUs");
}

// The corpus of the fuzz target: the same engines as there.
TEST(Checkpoint, WrittenSomeTimeAgoIsReadAndWrittenAlike) {
  for (const std::string policy : {"elasticflow", "tiresias", "pollux", "oasis", "edf"}) {
    std::ifstream file("tests/corpus/checkpoint/" + policy + ".txt", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Topology topology = Topology::parse("2x4").value();
    Engine engine = Engine::make(topology, SpeedBook({}, topology), policy,
                                 {.tenants = {{.name = "a", .share = 0.5}},
                                  .placer = policy == "edf" ? "hived" : "buddy"})
                        .value();

    const Status loaded = engine.load(text);

    ASSERT_TRUE(loaded.ok()) << policy << ": " << loaded.error().message;
    EXPECT_EQ(engine.save(), text) << policy;
    EXPECT_TRUE(engine.audit().empty()) << policy;
  }
}

TEST(Checkpoint, IsNotLoadedIntoAnEngineThatHasLived) {
  Engine engine = busy_engine();

  const Status loaded = engine.load(engine.save());

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message,
            "checkpoint: only an engine that nothing has happened to can go on from one");
}

TEST(Checkpoint, ThatCannotBeIsAnErrorThatSaysWhy) {
  const std::string text = busy_engine().save();
  EXPECT_EQ(error_with(text, "down=3", "down=4"), "checkpoint: nodes are down that there are not");
  EXPECT_EQ(error_with(text, "down=3", "down=0"),
            "checkpoint: job 1 has GPUs that are down or not its own");
  EXPECT_EQ(error_with(text, " pool=0", " pool=1"),
            "checkpoint: job 1 is in a pool that there is not");
  EXPECT_EQ(error_with(text, " gpus=0+", " gpus=15+"),
            "checkpoint: job 1 has GPUs that there are not, or others than its share");
  EXPECT_EQ(error_with(text, " id=3", " id=1"), "checkpoint: job 1 is there twice");
  EXPECT_EQ(error_with(text, "job class_now=slo", "job class_now=fast"),
            "checkpoint:4: class_now: 'fast' is not one of slo, soft, best_effort");
  EXPECT_EQ(error_with(text, "placer memory=", "placer memory=1"),
            "the placer buddy remembers nothing, but there is a memory for it");
  EXPECT_EQ(error_with(text, "policy\n", "polity\n"), "checkpoint:8: 'polity' cannot stand here");
}

}  // namespace
}  // namespace rubato
