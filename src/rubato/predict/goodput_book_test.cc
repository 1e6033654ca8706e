#include "rubato/predict/goodput_book.h"

#include <limits>

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr PoolId kPool{0};
constexpr PoolId kOther{1};

Job adaptive(std::uint64_t id, std::string model = "net") {
  return {.id = JobId{id},
          .model = std::move(model),
          .batch = 64,
          .batches = {.initial = 64, .max = 1024, .local_min = 8, .local_max = 128}};
}

StepObservation step(int nodes, int workers, int local_batch) {
  return {.nodes = nodes,
          .workers = workers,
          .local_batch = local_batch,
          .pass_seconds = 0.1 + 0.01 * local_batch,
          .step_seconds = 0.1 + 0.01 * local_batch + (workers > 1 ? 0.2 : 0.0),
          .gradient_squared = 1,
          .gradient_variance = 4};
}

/// A book with one job.
struct Desk {
  explicit Desk(bool shares = false) : book(shares) { book.arrive(job); }

  void see(const StepObservation& step, PoolId pool = kPool) { book.observe(job, pool, step); }
  [[nodiscard]] const JobGoodput& known() const { return *book.find(job.id); }

  Job job = adaptive(1);
  GoodputBook book;
};

TEST(GoodputBook, KeepsNothingAboutJobsWhoseBatchCannotAdapt) {
  GoodputBook book;
  const Job rigid{.id = JobId{1}, .model = "net", .batch = 64};
  book.arrive(rigid);

  book.observe(rigid, kPool, step(1, 1, 64));

  EXPECT_EQ(book.find(JobId{1}), nullptr);
}

TEST(GoodputBook, BeginsWithNothingAndTheLeastBatch) {
  const Desk desk;

  EXPECT_EQ(desk.known().on(kPool), nullptr);
  EXPECT_EQ(desk.known().best(kPool, 1, BatchSizes(desk.known().limits, 1)).rate, 0);
  EXPECT_EQ(desk.known().split(kPool, 1, 1), (BatchSplit{.local = 64}));
  EXPECT_EQ(desk.known().split(kPool, 1, 4), (BatchSplit{.local = 16}));
  EXPECT_EQ(desk.known().split(kPool, 4, 16), (BatchSplit{.local = 8}));  // No fewer each.
}

TEST(GoodputBook, KeepsToWhatWorkersTakeInEachPool) {
  GoodputBook book;
  const BatchLimits small{.local_min = 1, .local_max = 40};
  const BatchLimits none{.local_min = 500, .local_max = 600};

  book.arrive(adaptive(1), std::vector{small, adaptive(1).batches, none});

  const JobGoodput& known = *book.find(JobId{1});
  EXPECT_EQ(known.split(PoolId{0}, 1, 1), (BatchSplit{.local = 32, .accumulation = 1}));
  EXPECT_EQ(known.split(PoolId{1}, 1, 1), (BatchSplit{.local = 64}));
  EXPECT_EQ(known.split(PoolId{2}, 1, 1), (BatchSplit{.local = 64}));
  EXPECT_EQ(known.limits_on(PoolId{0}).local_min, 8);
  EXPECT_EQ(known.limits_on(PoolId{0}).max, 1024);
}

TEST(GoodputBook, KnowsTheBestBatchOnceAJobHasRun) {
  Desk desk;

  desk.see(step(1, 1, 64));

  const Goodput best = desk.known().best(kPool, 1, BatchSizes(desk.known().limits, 1));
  EXPECT_GT(best.rate, 0);
  EXPECT_EQ(best.split, desk.known().split(kPool, 1, 1));
  EXPECT_EQ(desk.known().on(kPool)->workers_seen, 1);
  EXPECT_EQ(desk.known().on(kOther), nullptr);
  EXPECT_EQ(desk.known().best(kOther, 1, BatchSizes(desk.known().limits, 1)).rate, 0);
}

TEST(GoodputBook, ExplorationIsBoundByTheMostWorkersEverSeen) {
  Desk desk;
  desk.see(step(1, 1, 64));
  desk.see(step(2, 8, 64));
  desk.see(step(1, 2, 64));

  EXPECT_EQ(desk.known().on(kPool)->workers_seen, 8);
  EXPECT_EQ(desk.known().on(kPool)->seen.size(), 3U);
}

TEST(GoodputBook, KeepsPoolsApart) {
  Desk desk;
  desk.see(step(1, 1, 64), kPool);
  StepObservation slow = step(1, 1, 64);
  slow.pass_seconds *= 10;
  slow.step_seconds *= 10;

  desk.see(slow, kOther);

  EXPECT_GT(desk.known().best(kPool, 1, BatchSizes(desk.known().limits, 1)).rate,
            5 * desk.known().best(kOther, 1, BatchSizes(desk.known().limits, 1)).rate);
}

TEST(GoodputBook, ItsVersionRisesOnlyWhenSomethingChanges) {
  Desk desk;
  EXPECT_EQ(desk.known().version, 0);
  desk.see(step(1, 1, 64));
  const long first = desk.known().version;
  EXPECT_GT(first, 0);

  desk.see(step(1, 1, 64));  // Nothing new.
  EXPECT_EQ(desk.known().version, first);
  const auto model = desk.known().on(kPool)->model;
  StepObservation again = step(1, 1, 64);
  again.step_seconds *= 3;
  desk.see(again);  // Seen before at this size.
  EXPECT_EQ(desk.known().version, first);
  EXPECT_EQ(desk.known().on(kPool)->model, model);

  StepObservation noisier = step(1, 1, 64);
  noisier.gradient_variance = 40;
  desk.see(noisier);
  const long second = desk.known().version;
  EXPECT_GT(second, first);
  EXPECT_EQ(desk.known().noise->variance, 40);
  noisier.local_batch = 32;
  desk.see(noisier);
  EXPECT_GT(desk.known().version, second);
}

TEST(GoodputBook, IgnoresNonsense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const auto changed = [](auto change) {
    StepObservation wrong = step(1, 2, 64);
    change(wrong);
    return wrong;
  };
  const std::vector<StepObservation> nonsense = {
      changed([](StepObservation& each) { each.nodes = 0; }),
      changed([](StepObservation& each) { each.nodes = 3; }),
      changed([](StepObservation& each) { each.workers = 0; }),
      changed([](StepObservation& each) { each.local_batch = 0; }),
      changed([](StepObservation& each) { each.pass_seconds = 0; }),
      changed([](StepObservation& each) { each.pass_seconds = kNan; }),
      changed([](StepObservation& each) { each.step_seconds = kEndless; }),
      changed([](StepObservation& each) { each.step_seconds = each.pass_seconds / 2; }),
      changed([](StepObservation& each) { each.gradient_squared = -1; }),
      changed([](StepObservation& each) { each.gradient_squared = kNan; }),
      changed([](StepObservation& each) { each.gradient_variance = kEndless; })};
  Desk desk(/*shares=*/true);

  for (const StepObservation& each : nonsense) {
    desk.see(each);
  }
  desk.book.arrive(adaptive(2));

  EXPECT_EQ(desk.known().version, 0);
  EXPECT_EQ(desk.known().on(kPool), nullptr);
  EXPECT_FALSE(desk.known().noise.has_value());
  EXPECT_EQ(desk.book.find(JobId{2})->version, 0);
}

TEST(GoodputBook, DoesNotAdaptToLimitsThatMakeNoSense) {
  GoodputBook book;
  std::uint64_t id = 0;
  for (const BatchLimits& limits :
       {BatchLimits{.initial = 64, .max = 128, .local_max = 0},
        BatchLimits{.initial = 0, .max = 128, .local_max = 64},
        BatchLimits{.initial = 64, .max = 32, .local_max = 64},
        BatchLimits{.initial = 64, .max = 128, .local_min = 0, .local_max = 64}}) {
    Job job = adaptive(++id);
    job.batches = limits;
    book.arrive(job);
    EXPECT_EQ(book.find(job.id), nullptr) << "limits " << id;
  }
}

TEST(GoodputBook, ForgetsAJobThatLeaves) {
  Desk desk;
  desk.see(step(1, 1, 64));

  desk.book.leave(desk.job.id);
  desk.see(step(1, 2, 64));

  EXPECT_EQ(desk.book.find(desk.job.id), nullptr);
  desk.book.arrive(desk.job);
  EXPECT_EQ(desk.known().version, 0);
}

TEST(GoodputBook, SharesWhatJobsOfAModelHaveShown) {
  Desk desk(/*shares=*/true);
  desk.see(step(1, 1, 64));
  desk.see(step(1, 4, 32));
  desk.book.leave(desk.job.id);
  Job larger = adaptive(2);
  larger.batches.max = 4096;

  desk.book.arrive(larger);
  desk.book.arrive(adaptive(3, "other"));

  const JobGoodput& newcomer = *desk.book.find(JobId{2});
  EXPECT_EQ(newcomer.on(kPool)->workers_seen, 4);
  EXPECT_GT(newcomer.best(kPool, 1, BatchSizes(newcomer.limits, 8)).rate, 0);
  EXPECT_EQ(newcomer.limits.max, 4096);
  EXPECT_EQ(desk.book.find(JobId{3})->on(kPool), nullptr);
}

TEST(GoodputBook, SharesNothingUnlessAskedTo) {
  Desk desk(/*shares=*/false);
  desk.see(step(1, 1, 64));

  desk.book.arrive(adaptive(2));

  EXPECT_EQ(desk.book.find(JobId{2})->on(kPool), nullptr);
}

TEST(GoodputBook, NeverTrainsWithMoreThanTheLargestBatch) {
  // Between the sizes it tries rounding up may exceed the limit; what is chosen must not.
  for (int max = 64; max < 400; ++max) {
    GoodputBook book;
    Job job = adaptive(1);
    job.batches.max = max;
    book.arrive(job);
    StepObservation noisy = step(1, 1, 64);
    noisy.gradient_variance = 1e6;
    book.observe(job, kPool, noisy);
    for (const int workers : {1, 2, 3, 4, 7}) {
      const BatchSplit split = book.find(job.id)->split(kPool, 1, workers);
      ASSERT_LE(split.batch(workers), max);
      ASSERT_GE(split.local, 1);
    }
  }
}

}  // namespace
}  // namespace rubato
