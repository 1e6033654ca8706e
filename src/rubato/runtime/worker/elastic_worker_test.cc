// Real workers as threads, and a conductor that says what the test wants it to say.
#include "rubato/runtime/worker/elastic_worker.h"

#include <atomic>
#include <future>

#include <gmock/gmock.h>

#include "rubato/runtime/worker/scripted_conductor_test.h"

namespace rubato {
namespace {

using Kind = wire::FromWorker::KindCase;

/// A model of one number, which counts the samples that were used, and as much state again.
class SampleCounter final : public TrainingState {
 public:
  [[nodiscard]] Result<std::string> save() override {
    ++saves;
    return std::to_string(steps);
  }
  [[nodiscard]] Status load(std::string_view bytes) override {
    steps = std::stoi(std::string(bytes));
    ++loads;
    return ok_status();
  }

  int steps = 0;
  int saves = 0;
  int loads = 0;
};

/// One worker; its calls block, so the test makes them on threads.
struct Trainee {
  SampleCounter state{};
  std::unique_ptr<ElasticWorker> worker{};
  StepTask last{};
  bool was_redone = false;
  std::atomic<std::uint64_t> ends_at = ~std::uint64_t{0};

  [[nodiscard]] float& samples_used() const {
    return *reinterpret_cast<float*>(worker->arena().parameters().data());  // NOLINT
  }

  // One step, or the first part of one that is broken off. False: it was sent away or is done.
  bool step() {
    const auto task = worker->begin();
    EXPECT_TRUE(task.ok()) << task.error().message;
    if (!task || task->kind == StepKind::Leave) {
      return false;
    }
    last = *task;
    if (task->cursor.step >= ends_at) {
      return false;
    }
    std::ranges::fill(worker->arena().slot(0), 1.0F);
    const auto verdict = worker->reduce({});
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    was_redone = !verdict || *verdict == ReduceVerdict::Redo;
    if (!was_redone) {
      samples_used() += static_cast<float>(task->samples) * worker->arena().slot(0)[0];
      ++state.steps;
      EXPECT_TRUE(worker->commit().ok());
    }
    return true;
  }
  // Steps until it trains in a generation.
  void train_into(std::uint64_t generation) {
    while (last.generation < generation && step()) {
    }
  }
};

class ElasticWorkerTest : public testing::Test {
 protected:
  // The conductor reads only what a test waits for: frequent signs of life would fill its line on a
  // slow machine, and then nobody could train.
  void SetUp() override { conductor_.welcome.set_heartbeat_us(60'000'000); }

  // Starts workers 1..n.
  void join(int workers) {
    for (int i = 0; i < workers; ++i) {
      auto& trainee = *trainees_.emplace_back(std::make_unique<Trainee>());
      const auto id = trainees_.size();
      auto joining = std::async(std::launch::async, [&] {
        return ElasticWorker::join({.address = {.socket = conductor_.path(), .worker = id},
                                    .layout = {.parameter_bytes = sizeof(float), .floats = 16},
                                    .cut = {.samples = 100, .batch = 4},
                                    .check_every = check_every_},
                                   trainee.state);
      });
      conductor_.take_worker();
      auto joined = joining.get();
      ASSERT_TRUE(joined.ok()) << joined.error().message;
      trainee.worker = std::move(*joined);
    }
  }
  Trainee& trainee(std::uint64_t id) { return *trainees_.at(id - 1); }

  // Lets these workers do the same thing at once.
  template <typename Work>
  void together(const std::vector<std::uint64_t>& ids, Work work) {
    std::vector<std::future<void>> done;
    for (const std::uint64_t id : ids) {
      done.push_back(std::async(std::launch::async, [&, id] { work(trainee(id)); }));
    }
  }
  void steps(const std::vector<std::uint64_t>& ids, int count) {
    together(ids, [count](Trainee& each) {
      for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(each.step());
        EXPECT_FALSE(each.was_redone);
      }
    });
  }

  ScriptedConductor conductor_;
  std::vector<std::unique_ptr<Trainee>> trainees_;
  int check_every_ = 1;
};

TEST_F(ElasticWorkerTest, TrainsAloneWithoutAConductor) {
  Trainee alone;
  alone.worker =
      std::move(*ElasticWorker::join({.layout = {.parameter_bytes = sizeof(float), .floats = 16},
                                      .cut = {.samples = 8, .batch = 4}},
                                     alone.state));

  EXPECT_TRUE(alone.step());
  EXPECT_TRUE(alone.step());

  EXPECT_EQ(alone.samples_used(), 8);
  EXPECT_EQ(alone.worker->cursor().step, 2U);
  EXPECT_TRUE(alone.worker->finish().ok());
}

TEST_F(ElasticWorkerTest, ShareTheBatchAndEndWithTheSameParameters) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});

  steps({1, 2}, 3);

  EXPECT_EQ(trainee(1).samples_used(), 12);
  EXPECT_EQ(trainee(1).worker->parameter_hash(), trainee(2).worker->parameter_hash());
  EXPECT_EQ(trainee(1).last.shards[0].samples() + trainee(2).last.shards[0].samples(), 4U);
  EXPECT_EQ(conductor_.hear(1, Kind::kEntered).entered().generation(), 1U);
  EXPECT_EQ(conductor_.hear(2, Kind::kFirstStep).first_step().step(), 1U);
}

TEST_F(ElasticWorkerTest, SwitchOnlyWhenAllHaveBuiltTheSameGeneration) {
  join(3);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 1);
  const ScriptedGeneration next{.number = 2, .members = {1, 2, 3}};
  conductor_.publish_to(1, next);
  conductor_.publish_to(3, next);

  steps({1, 2}, 20);
  EXPECT_EQ(trainee(1).last.generation, 1U);
  EXPECT_EQ(trainee(2).last.generation, 1U);
  conductor_.publish_to(2, next);
  together({1, 2, 3}, [](Trainee& each) { each.train_into(2); });

  EXPECT_EQ(trainee(3).worker->cursor(), trainee(1).worker->cursor());
  EXPECT_EQ(trainee(3).samples_used(), trainee(1).samples_used());
  EXPECT_EQ(trainee(3).state.steps, trainee(1).state.steps) << "the program's own state came too";
  EXPECT_GT(conductor_.hear(3, Kind::kEntered).entered().received_bytes(), 0);
}

TEST_F(ElasticWorkerTest, AbandonAnEntryThatANewerGenerationReplaces) {
  join(3);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 1);
  // Worker 3 never comes: the others wait for it in generation 2.
  conductor_.publish({.number = 2, .members = {1, 2, 3}});
  auto training = std::async(std::launch::async, [&] {
    together({1, 2}, [](Trainee& each) { each.train_into(3); });
  });

  conductor_.publish({.number = 3, .members = {1, 2}});
  training.get();

  EXPECT_EQ(trainee(1).last.generation, 3U);
  EXPECT_EQ(trainee(1).samples_used(), 4.0F * static_cast<float>(trainee(1).state.steps));
  EXPECT_EQ(trainee(1).worker->parameter_hash(), trainee(2).worker->parameter_hash());
}

TEST_F(ElasticWorkerTest, GoOnWithoutALostMemberFromTheStepThatWasBrokenOff) {
  join(3);
  conductor_.publish({.number = 1, .members = {1, 2, 3}});
  steps({1, 2, 3}, 2);
  // Worker 3 is lost: it takes part in no step any more.
  auto training = std::async(std::launch::async, [&] {
    together({1, 2}, [](Trainee& each) { each.train_into(2); });
  });

  conductor_.publish({.number = 2, .members = {1, 2}, .is_forced = true});
  training.get();

  EXPECT_EQ(trainee(1).state.steps, 3);
  EXPECT_EQ(trainee(2).samples_used(), 12) << "no step counts twice, none is lost";
}

TEST_F(ElasticWorkerTest, TrainsOnWhileItsConductorReadsNothing) {
  constexpr int kSteps = 50'000;  // Tells of a thousand profiles: more than a line holds.
  join(1);
  conductor_.publish({.number = 1, .members = {1}});

  steps({1}, kSteps);
  EXPECT_EQ(trainee(1).state.steps, kSteps);

  std::atomic<bool> is_told = false;
  auto going_on = std::async(std::launch::async, [&] {
    while (!is_told) {
      trainee(1).step();
    }
  });
  std::uint64_t told = 0;
  while (told < kSteps) {
    told += conductor_.hear(1, Kind::kProfile).profile().steps();
  }
  is_told = true;
  going_on.get();
  EXPECT_LE(told, trainee(1).worker->cursor().step) << "all was told later, and once";
}

TEST_F(ElasticWorkerTest, AParkedWorkerIsHandedTheNewerStateWithCare) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 2);
  conductor_.publish({.number = 2, .members = {1}});
  auto parked =
      std::async(std::launch::async, [&] { trainee(2).train_into(3); });  // Parked on the way.
  trainee(1).train_into(2);
  steps({1}, 5);
  EXPECT_EQ(conductor_.hear(2, Kind::kParked).parked().generation(), 2U);

  conductor_.publish({.number = 3, .members = {1, 2}});
  trainee(1).train_into(3);
  parked.get();

  EXPECT_EQ(trainee(2).state.loads, 2) << "at first, and now";
  EXPECT_EQ(trainee(2).worker->cursor(), trainee(1).worker->cursor());
  EXPECT_EQ(trainee(2).samples_used(), trainee(1).samples_used());
}

TEST_F(ElasticWorkerTest, ANewcomerResumesFromTheSnapshotOfTheLost) {
  conductor_.welcome.set_snapshot_steps(2);
  join(1);
  conductor_.publish({.number = 1, .members = {1}});
  steps({1}, 3);
  const auto written = conductor_.hear(1, Kind::kSnapshotWritten).snapshot_written();
  const auto memory = conductor_.take_descriptors();
  trainee(1).worker.reset();
  conductor_.hang_up(1);

  join(1);
  conductor_.publish({.number = 2,
                      .members = {2},
                      .snapshot = memory.at(0).get(),
                      .snapshot_bytes = written.bytes(),
                      .snapshot_step = written.step()});
  steps({2}, 1);

  EXPECT_EQ(written.step(), 2U);
  EXPECT_EQ(trainee(2).last.cursor.step, 2U);
  EXPECT_EQ(trainee(2).samples_used(), 12) << "two steps from the snapshot, and its own";
  EXPECT_EQ(trainee(2).state.steps, 3);
}

TEST_F(ElasticWorkerTest, TheLeaderWritesWhatWasCommittedBeforeAllPark) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 3);
  conductor_.publish({.number = 2, .members = {}});
  // They train until both know; then nobody is a member.
  auto parking = std::async(std::launch::async, [&] {
    together({1, 2}, [](Trainee& each) {
      while (each.step()) {
      }
    });
  });

  const auto written = conductor_.hear(1, Kind::kSnapshotWritten).snapshot_written();
  EXPECT_EQ(conductor_.hear(1, Kind::kParked).parked().step(), written.step());
  EXPECT_EQ(conductor_.hear(2, Kind::kParked).parked().step(), written.step());

  wire::FromConductor exit;
  exit.mutable_exit();
  conductor_.send(1, exit);
  conductor_.send(2, exit);
  parking.get();
  EXPECT_GE(written.step(), 4U);
  EXPECT_EQ(trainee(2).worker->cursor().step, written.step());
}

TEST_F(ElasticWorkerTest, WhoMissedTheLastCommitIsHandedItWhileTheOthersFinish) {
  join(3);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 1);
  conductor_.publish({.number = 2, .members = {1, 3}});
  auto late = std::async(std::launch::async, [&] {
    trainee(2).train_into(3);  // Parked on the way.
    return trainee(2).worker->finish();
  });
  together({1, 3}, [](Trainee& each) { each.train_into(2); });
  conductor_.hear(2, Kind::kParked);
  const std::uint64_t last = trainee(1).worker->cursor().step + 2;
  for (const auto& each : trainees_) {
    each->ends_at = last;
  }
  together({1, 3}, [](Trainee& each) {
    while (each.step()) {
    }
  });
  // Worker 3 is lost before it could say that it has finished.
  auto finished = std::async(std::launch::async, [&] { return trainee(1).worker->finish(); });

  conductor_.publish({.number = 3, .members = {1, 2}, .is_forced = true});

  EXPECT_TRUE(finished.get().ok());
  EXPECT_TRUE(late.get().ok());
  const auto first = conductor_.hear(1, Kind::kFinished).finished();
  const auto second = conductor_.hear(2, Kind::kFinished).finished();
  EXPECT_EQ(second.step(), last);
  EXPECT_EQ(second.generation(), 3U);
  EXPECT_EQ(second.parameter_hash(), first.parameter_hash());
}

TEST_F(ElasticWorkerTest, IsSentAwayOrLosesItsConductor) {
  join(2);
  wire::FromConductor exit;
  exit.mutable_exit();

  conductor_.send(1, exit);
  conductor_.hang_up(2);

  EXPECT_FALSE(trainee(1).step());
  EXPECT_EQ(trainee(2).worker->begin().error().code, ErrorCode::Io);
}

TEST_F(ElasticWorkerTest, SaysWhyAProgramCannotBeElastic) {
  join(1);

  trainee(1).worker->refuse("it draws its own batches");

  EXPECT_EQ(conductor_.hear(1, Kind::kRefused).refused().reason(), "it draws its own batches");
}

TEST_F(ElasticWorkerTest, NoticesParametersThatDiffer) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 1);

  trainee(2).samples_used() += 1;
  std::atomic<int> noticed = 0;
  together({1, 2}, [&](Trainee& each) {
    ASSERT_TRUE(each.worker->begin().ok());
    noticed += each.worker->reduce({}).ok() ? 0 : 1;
  });

  EXPECT_EQ(noticed, 2);
}

TEST_F(ElasticWorkerTest, NoticesParametersThatDifferOnEnteringAGeneration) {
  check_every_ = 1000;
  join(3);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 1);
  trainee(2).samples_used() += 1;
  conductor_.publish({.number = 2, .members = {1, 2, 3}});

  std::atomic<int> noticed = 0;
  together({1, 2, 3}, [&](Trainee& each) {
    while (true) {
      const auto task = each.worker->begin();
      if (!task) {
        noticed += task.error().code == ErrorCode::BadInput ? 1 : 0;
        return;
      }
      ASSERT_EQ(task->generation, 1U);
      ASSERT_TRUE(each.worker->reduce({}).ok());
      ASSERT_TRUE(each.worker->commit().ok());
    }
  });

  EXPECT_EQ(noticed, 3);
}

TEST_F(ElasticWorkerTest, NoticesParametersThatDifferAtTheEnd) {
  check_every_ = 1000;
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 2);

  trainee(1).samples_used() += 1;
  std::atomic<int> noticed = 0;
  together({1, 2}, [&](Trainee& each) { noticed += each.worker->finish().ok() ? 0 : 1; });

  EXPECT_EQ(noticed, 2);
}

TEST_F(ElasticWorkerTest, TellTheirTagsAndCopyTheStateOfOne) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  std::vector<std::vector<double>> told(2);
  std::vector<std::string> states{"short", "a longer one"};

  together({1, 2}, [&](Trainee& each) {
    ASSERT_TRUE(each.worker->begin().ok());
    const auto self = static_cast<std::size_t>(each.worker->is_leader() ? 0 : 1);
    ASSERT_TRUE(each.worker->reduce({.tag = 5.0 + static_cast<double>(self)}).ok());
    told[self] = each.worker->tags();
    ASSERT_EQ(each.worker->copy_from(1, states[self]).value(), ReduceVerdict::Apply);
    ASSERT_TRUE(each.worker->commit().ok());
  });

  EXPECT_EQ(told[0], (std::vector<double>{5, 6}));
  EXPECT_EQ(told[1], told[0]);
  EXPECT_EQ(states[0], "a longer one");
  EXPECT_EQ(states[1], "a longer one");
}

TEST_F(ElasticWorkerTest, ACopyThatIsBrokenOffBeginsTheStepAgain) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  together({1, 2}, [](Trainee& each) {
    ASSERT_TRUE(each.worker->begin().ok());
    ASSERT_TRUE(each.worker->reduce({}).ok());
  });
  // Worker 2 is lost: it does not take part in the copy.
  std::string state = "mine";
  auto copying =
      std::async(std::launch::async, [&] { return trainee(1).worker->copy_from(1, state); });

  conductor_.publish({.number = 2, .members = {1}, .is_forced = true});

  EXPECT_EQ(copying.get().value(), ReduceVerdict::Redo);
  EXPECT_TRUE(trainee(1).step());
  EXPECT_EQ(trainee(1).last.cursor.step, 0U);
}

TEST_F(ElasticWorkerTest, TakesOverTheBatchThatRankZeroProposes) {
  join(2);
  conductor_.publish({.number = 1, .members = {1, 2}});
  steps({1, 2}, 1);

  trainee(1).worker->propose_batch(10);
  trainee(2).worker->propose_batch(20);
  steps({1, 2}, 2);

  EXPECT_EQ(trainee(2).worker->batch(), 10U);
  EXPECT_EQ(trainee(2).last.samples, 10U);
}

}  // namespace
}  // namespace rubato
